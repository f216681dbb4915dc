// CPython as WebAssembly, off the page's own thread. Everything is loaded from the folder `runtime` beside this file.
"use strict";
const loaded = load();

async function load() {
  const about = await (await fetch("runtime/about.json")).json();
  importScripts("runtime/pyodide.js");
  const python = await loadPyodide({ indexURL: "runtime/" });
  const quiet = { messageCallback: () => {} };
  for (const wheel of about.wheels) await python.loadPackage("runtime/" + wheel, quiet);
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  for (const archive of about.archives) {
    python.unpackArchive(await (await fetch("runtime/" + archive)).arrayBuffer(), "zip", { extractDir: packages });
  }
  await python.runPythonAsync(await (await fetch("answers.py")).text());
  postMessage({ ready: about });
  return python.globals.get("answers");
}

loaded.catch((error) => postMessage({ failed: String(error) }));

onmessage = async ({ data }) => {
  try {
    const answers = await loaded;
    postMessage({ answer: JSON.parse(answers(data.snapshot, data.changes)) });
  } catch (error) {
    postMessage({ failed: String(error) });
  }
};
