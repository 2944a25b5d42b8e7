// A file that loop.js loads at its end.
exports.more = function more(n) { return `${n + 1}`; };
