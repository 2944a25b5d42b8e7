const { inner } = require('./crash2.js');
function outer(cart) {
  return inner(cart, 3);
}
setTimeout(() => outer({ items: null }), 5);
