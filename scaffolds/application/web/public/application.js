// Asks before a form with data-confirm is sent. Without JavaScript it is sent unasked.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm
  if (question && !window.confirm(question)) event.preventDefault()
})
