describe('nothing here', () => {});
