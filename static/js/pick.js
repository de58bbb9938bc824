// Searching for a model beside a prompt: the page of all models in a dialog, whose choice goes into the form.
import { $, $$, on } from './dom.js'

const dialog = () => $('#pick')

on('click', '[data-pick]', event => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  dialog()?.showModal()
})

on('click', '#pick [data-model]', (event, button) => {
  event.preventDefault()
  const select = $('[data-composer] select[name=model]')
  const { model, name } = button.dataset
  let option = $$('option', select).find(it => it.value === model)
  if (!option) {
    option = new Option(name, model)
    select.append(option)
  }
  select.value = model
  select.dispatchEvent(new Event('change', { bubbles: true }))
  dialog().close()
  select.focus()
})

// Up and down go from one model to the next, and back to the search.
on('keydown', '#pick', (event, box) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step) return
  const all = [$('input[type=search]', box), ...$$('[data-model]', box)].filter(Boolean)
  const row = document.activeElement.closest('li')
  const at = all.indexOf(row ? $('[data-model]', row) : document.activeElement)
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))]
  event.preventDefault()
  next?.focus()
})
