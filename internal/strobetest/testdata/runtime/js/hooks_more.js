// A file that hooks.js loads while its own hook is in force.
exports.more = function more(n) { return n + 1; };
