// Asks for confirmation before a form with data-confirm is sent. Without JavaScript, the form is sent without asking.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm
  if (question && !window.confirm(question)) event.preventDefault()
})
