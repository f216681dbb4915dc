// The theme searches for words that begin with each word of the query: "a" finds "alert" and "in" finds "incident".
// Words that say nothing are taken out of the query before the worker gets it, unless nothing else is left.
const EMPTY_WORDS = new Set(
  "a about after an and any are as at be been before but by can could did do does for from had has have how i if in into is it its me my no nor not of off on only or our own should so some than that the their them then there these they this those to too us was we were what when where which while who whom why will with would you your".split(" "),
);

function withoutEmptyWords(query) {
  const words = query.split(/\s+/).filter((word) => !EMPTY_WORDS.has(word.toLowerCase()));
  return words.some((word) => word) ? words.join(" ") : query;
}

if (typeof Worker === "function") {
  const send = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...others) {
    const isQuery = message && message.type === 2 && typeof message.data === "string";
    return send.call(this, isQuery ? { ...message, data: withoutEmptyWords(message.data) } : message, ...others);
  };
}
