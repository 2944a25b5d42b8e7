describe('all set up badly', () => {
  beforeAll(() => {
    throw new Error('nothing can be set up');
  });
  it('never runs', () => {});
});

describe('all taken down badly', () => {
  afterAll(() => {
    throw new Error('nothing can be taken down');
  });
  it('passes before', () => {});
});
