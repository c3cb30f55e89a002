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

// The button of form.addRow adds a row: a copy of the last one, without its values. Without JavaScript, it sends the form.
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-add-row]')
  const list = button?.dataset.addRow
  const fields = button?.form.querySelectorAll(`[name^="${list}["]`) ?? []
  const last = [...fields].at(-1)?.closest('fieldset')
  if (!last) return
  event.preventDefault()
  const row = last.cloneNode(true)
  const index = Number(/\[(\d+)\]/.exec([...fields].at(-1).name)[1])
  for (const element of row.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (!['id', 'name', 'for', 'aria-describedby'].includes(name)) continue
      element.setAttribute(
        name,
        value
          .replace(`[${index}]`, `[${index + 1}]`)
          .replaceAll(`_${list}_${index}`, `_${list}_${index + 1}`),
      )
    }
  }
  for (const part of row.querySelectorAll('.error, .remove-row, input[name$="[id]"]')) part.remove()
  for (const input of row.querySelectorAll('input:not([type=hidden]), textarea, select')) {
    input.removeAttribute('aria-invalid')
    input.removeAttribute('required')
    if (input.type === 'checkbox') input.checked = false
    else input.value = ''
  }
  const legend = row.querySelector('legend')
  legend.textContent = legend.textContent.replace(String(index + 1), String(index + 2))
  last.after(row)
  row.querySelector('input:not([type=hidden]), textarea, select')?.focus()
})
