describe('Post', () => {
  it('is valid with all required attributes', () => {
    throw new Error('Not Implemented!')
  })
})
