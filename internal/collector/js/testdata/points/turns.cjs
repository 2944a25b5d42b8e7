const { EventEmitter } = require('node:events');
const bell = new EventEmitter();

function first(n) {
  const twice = n * 2;
  return twice;
}

function heard(n) {
  first(n);
  console.log('heard', n);
}

function second() {
  console.log('second');
}

bell.on('ring', heard);
setTimeout(() => {
  bell.emit('ring', 3);
  setTimeout(second, 1);
}, 1);
