// Asks for confirmation before a form with data-confirm is sent. Without JavaScript, the form is sent without asking.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm
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
