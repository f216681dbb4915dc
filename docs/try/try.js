// The page "Try it". What was pasted is hostile: it is put out as text, or as the report in a frame that may do nothing.
"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const [state, plan, frame, button] = ["try-state", "try-plan", "try-report", "try-run"].map(element);
  let worker;

  const says = (text, isError) => {
    state.textContent = text;
    state.dataset.state = isError ? "error" : "said";
  };

  const answered = ({ text, html, error }) => {
    button.disabled = false;
    plan.hidden = frame.hidden = error !== undefined;
    if (error !== undefined) return says(error, true);
    plan.textContent = text;
    frame.srcdoc = html;
    says("Planned in this browser; nothing was sent anywhere.");
    state.dataset.state = "planned";
  };

  const heard = ({ data }) => {
    if (data.answer) return answered(data.answer);
    if (data.ready) return says(`Python ${data.ready.python} is loaded. Planning …`);
    button.disabled = false;
    says(`The runtime did not load: ${data.failed}. It is part of the site that \`make browser\` puts together.`, true);
  };

  button.addEventListener("click", () => {
    if (!worker) {
      says("Loading Python, about 30 MB …");
      worker = new Worker("try/worker.js");
      worker.onmessage = heard;
      worker.onerror = (event) => heard({ data: { failed: event.message || "the worker was refused" } });
    }
    button.disabled = true;
    worker.postMessage({ snapshot: element("try-snapshot").value, changes: element("try-changes").value });
  });
})();
