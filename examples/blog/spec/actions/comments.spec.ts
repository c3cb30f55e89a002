describe('CommentsResource', () => {
  it('list shows one page of comments, newest first', () => {
    throw new Error('Not Implemented!')
  })

  it('show shows a comment', () => {
    throw new Error('Not Implemented!')
  })

  it('new shows the form for a new comment', () => {
    throw new Error('Not Implemented!')
  })

  it('create adds a comment', () => {
    throw new Error('Not Implemented!')
  })

  it('edit shows the form to edit a comment', () => {
    throw new Error('Not Implemented!')
  })

  it('update changes a comment', () => {
    throw new Error('Not Implemented!')
  })

  it('destroy deletes a comment', () => {
    throw new Error('Not Implemented!')
  })
})
