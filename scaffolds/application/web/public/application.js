// Asks for confirmation before a form or button with data-confirm is sent. Without JavaScript, it is sent without asking.
document.addEventListener('submit', (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm
  if (question && !window.confirm(question)) event.preventDefault()
})

// Checks the size of all files of a form when one is chosen. Without JavaScript, the form comes back with the error.
document.addEventListener('change', ({ target }) => {
  const inputs = [...(target.form?.querySelectorAll('input[data-files-limit]') ?? [])]
  let size = 0
  for (const input of inputs) {
    for (const file of input.files) size += file.size
    input.setCustomValidity(size > Number(input.dataset.filesLimit) ? input.dataset.filesMessage : '')
  }
  if (inputs.includes(target)) target.reportValidity()
})

// Adds a checkbox that selects all records of the page to the form of bulkForm, with their number.
for (const form of document.querySelectorAll('form.bulk')) {
  const boxes = [...document.querySelectorAll(`input[name="ids"][form="${form.id}"]`)]
  const label = document.createElement('label')
  const page = Object.assign(document.createElement('input'), { type: 'checkbox' })
  const count = document.createElement('output')
  label.append(page, ' ', form.dataset.selectPage ?? '', ' ', count)
  form.prepend(label)
  const update = () => {
    const chosen = boxes.filter((box) => box.checked).length
    page.checked = chosen > 0 && chosen === boxes.length
    page.indeterminate = chosen > 0 && chosen < boxes.length
    count.textContent = chosen > 0 ? `(${chosen})` : ''
  }
  page.addEventListener('change', () => {
    for (const box of boxes) box.checked = page.checked
    update()
  })
  for (const box of boxes) box.addEventListener('change', update)
  const all = form.querySelector('input[name="all"]')
  // Either all records of the list are sent, or the selected ones.
  all?.addEventListener('change', () => {
    for (const box of [page, ...boxes]) box.disabled = all.checked
  })
  update()
}
