describe('Comment', () => {
  it('is valid with all that it needs', () => {
    throw new Error('Not Implemented!')
  })
})
