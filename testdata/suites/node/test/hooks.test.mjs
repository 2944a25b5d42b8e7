import { after, before, describe, it } from 'node:test';

describe('all set up badly', () => {
  before(() => {
    throw new Error('nothing can be set up');
  });
  it('never runs', () => {});
});

describe('all taken down badly', () => {
  after(() => {
    throw new Error('nothing can be taken down');
  });
  it('passes before', () => {});
});
