// Runs one job in Pyodide under Node: `node run.mjs job.json`. A job names the runtime's folder, wheels and archives in it,
// files to lay into the file system of WebAssembly, and the Python text to run; what that prints is what this prints.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { loadPyodide } = await import(pathToFileURL(path.join(job.runtime, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: job.runtime });
for (const wheel of job.wheels) await python.loadPackage(path.join(job.runtime, wheel), { messageCallback: () => {} });
const packages = python.runPython("import site; site.getsitepackages()[0]");
for (const archive of job.archives) {
  python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(job.runtime, archive))), "zip", { extractDir: packages });
}
for (const [from, to] of Object.entries(job.files)) {
  python.FS.mkdirTree(path.posix.dirname(to));
  python.FS.writeFile(to, fs.readFileSync(from));
}
try {
  python.runPython(job.code);
} catch (error) {
  // The error's own trace holds the runtime's source, a megabyte in one line.
  console.error(String(error.message).slice(-4000));
  process.exit(1);
}
