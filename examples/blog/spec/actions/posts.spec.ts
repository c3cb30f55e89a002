describe('PostsResource', () => {
  it('list shows one page of posts, newest first', () => {
    throw new Error('Not Implemented!')
  })

  it('show shows a post', () => {
    throw new Error('Not Implemented!')
  })

  it('new shows the form for a new post', () => {
    throw new Error('Not Implemented!')
  })

  it('create adds a post', () => {
    throw new Error('Not Implemented!')
  })

  it('edit shows the form to edit a post', () => {
    throw new Error('Not Implemented!')
  })

  it('update changes a post', () => {
    throw new Error('Not Implemented!')
  })

  it('destroy deletes a post', () => {
    throw new Error('Not Implemented!')
  })
})
