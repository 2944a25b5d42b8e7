function own(x) { return library(x) + 1; }
function library(x) { return x * 2; }
function runtime() { own(3); }
runtime();
//# sourceMappingURL=bundle%20%5B1%5D.cjs.map
