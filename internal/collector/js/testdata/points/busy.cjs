let turns = 0, stop = false;
function spin() {
  while (!stop) {
    turns++;
  }
  return 'stopped';
}
function later() {
  console.log('later');
  clearInterval(timer);
}
console.log(spin());
const timer = setInterval(() => {
  if (stop === 'now') later();
}, 20);
process.stdin.on('data', () => {
  stop = 'now';
}).unref();
console.log('idle');
