async function f() { await null; throw Object.assign(new Error('rejected'), { code: 'E1' }); }
await f();
