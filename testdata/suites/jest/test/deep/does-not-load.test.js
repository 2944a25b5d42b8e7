const { gone } = require('./a-module-that-is-not-there');

test('never seen', () => gone());
