it('never seen', () => {
