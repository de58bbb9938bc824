// Files of a prompt: chosen, pasted or dropped, shown with a way to take each out again. They are sent with the form itself.
import { $, icon, make, on, say, toast } from './dom.js'

const inputOf = form => $('input[type=file]', form)
const held = new WeakMap()

const size = bytes => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`

// Drawn on a canvas: the page's policy lets no image in that is not from this server.
async function picture(file) {
  const box = make('span', { class: 'thumb' }, icon(file.type.startsWith('image/') ? 'image' : 'file'))
  if (!file.type.startsWith('image/')) return box
  try {
    const image = await createImageBitmap(file)
    const side = Math.min(image.width, image.height)
    const canvas = make('canvas', { class: 'thumb', width: 64, height: 64, 'aria-hidden': 'true' })
    canvas.getContext('2d').drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, 0, 0, 64, 64)
    image.close()
    return canvas
  } catch {
    return box
  }
}

async function draw(form) {
  const files = held.get(form) ?? []
  const list = $('[data-attached]', form)
  const rows = await Promise.all(files.map(async file => {
    const remove = make('button', { type: 'button', class: 'btn quiet little square', 'data-detach': '', 'aria-label': `Remove ${file.name}` }, icon('x'))
    const row = make('li', {}, await picture(file), make('span', { class: 'name' }, file.name), make('span', { class: 'faint' }, size(file.size)), remove)
    row.file = file
    return row
  }))
  if (files !== (held.get(form) ?? [])) return
  list.replaceChildren(...rows)
  list.hidden = !rows.length
}

// What is held is also what the form sends.
function hold(form, files) {
  const input = inputOf(form)
  const most = Number(input.dataset.most)
  const largest = Number(input.dataset.largest)
  const fit = files.filter(file => file.size <= largest * 1e6)
  const kept = fit.slice(0, most)
  if (fit.length < files.length) toast(`A file over ${largest} MB was left out.`, 'bad')
  else if (kept.length < fit.length) toast(`Only ${most} files go with one prompt.`, 'bad')
  const transfer = new DataTransfer()
  for (const file of kept) transfer.items.add(file)
  input.files = transfer.files
  held.set(form, kept)
  draw(form)
}

function add(form, files) {
  if (!files.length || !inputOf(form)) return
  hold(form, [...(held.get(form) ?? []), ...files])
  say(files.length === 1 ? `${files[0].name} attached.` : `${files.length} files attached.`)
}

on('change', '[data-composer] input[type=file]', (_, input) => add(input.form, [...input.files]))

on('click', '[data-detach]', (_, button) => {
  const form = button.closest('form')
  const gone = button.closest('li').file
  hold(form, (held.get(form) ?? []).filter(file => file !== gone))
  say(`${gone.name} removed.`)
  $('textarea', form).focus()
})

on('paste', '[data-composer] textarea', (event, text) => {
  const files = [...event.clipboardData?.files ?? []]
  // Some programs copy words together with a picture of them: then the words are meant.
  if (!files.length || event.clipboardData.types.includes('text/plain')) return
  event.preventDefault()
  add(text.form, files)
})

const carries = event => event.dataTransfer?.types.includes('Files')
on('dragover', '.middle', (event, place) => {
  const form = $('[data-composer]', place)
  if (!carries(event) || !form || !inputOf(form)) return
  event.preventDefault()
  form.dataset.over = ''
})
on('dragleave', '.middle', (event, place) => {
  if (!place.contains(event.relatedTarget)) delete $('[data-composer]', place)?.dataset.over
})
on('drop', '.middle', (event, place) => {
  const form = $('[data-composer]', place)
  if (!carries(event) || !form || !inputOf(form)) return
  event.preventDefault()
  delete form.dataset.over
  add(form, [...event.dataTransfer.files])
})

// Whether a form has files, for those who ask whether there is anything to send.
export const hasFiles = form => (held.get(form) ?? []).length > 0

export const forget = form => { if (inputOf(form)) hold(form, []) }
