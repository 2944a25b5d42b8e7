// A graph of which every node leads to all others, handed on in each call; a function that is called once; a text.
class Node {
  constructor(i) {
    this.id = i;
    this.label = 'node ' + i;
    this.next = [];
    this.attributes = { kind: 'wide', weights: [i, i + 1, i + 2], owner: { name: 'o' + i, tags: ['a', 'b'] } };
  }
}
const all = [];
for (let i = 0; i < 60; i++) all.push(new Node(i));
for (const n of all) n.next = all;
function walk(node, text, flag) { return node; }
function once(node) { return 1; }
for (let i = 0; i < 3000; i++) walk(all[i % 60], 'text ' + i, i % 2 === 0);
once(all[0]);
