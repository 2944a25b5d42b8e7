function validate(o) { if (!o.ok) { throw new Error('order ' + o.id + ' is not ok', { cause: new TypeError('inner') }); } return 1; }
class Shop { run(o) { return validate(o); } }
setTimeout(() => new Shop().run({ id: 7 }), 5);
