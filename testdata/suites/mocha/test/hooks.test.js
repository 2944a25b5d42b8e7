describe('set up badly', () => {
  beforeEach(() => {
    throw new Error('cannot be set up');
  });
  it('never runs', () => {});
  it('nor this', () => {});
});

describe('taken down badly', () => {
  afterEach(() => {
    throw new Error('cannot be taken down');
  });
  it('passes before', () => {});
});

describe('all set up badly', () => {
  before(() => {
    throw new Error('nothing can be set up');
  });
  it('never seen', () => {});
});

describe('all taken down badly', () => {
  after(() => {
    throw new Error('nothing can be taken down');
  });
  it('passes long before', () => {});
});
