// A button, and the list it opens: examples in groups, of which those stay that have all the words
// of the search. Choosing one tells the editor, which can undo it. Uses shared.js.

function fill(list, groups, onChoose) {
  const options = []
  list.replaceChildren(
    ...groups.map(({ title, examples }, number) => {
      const group = element("div")
      const heading = element("div", "group", title)
      heading.id = `group-${number}`
      group.setAttribute("role", "group")
      group.setAttribute("aria-labelledby", heading.id)
      group.append(heading)
      for (const example of examples) {
        const option = element("div")
        option.id = `option-${options.length}`
        option.setAttribute("role", "option")
        option.append(element("b", "", example.title), " ", element("span", "", example.question))
        option.classList.toggle("code", example.source.trim() === example.title)
        const text = `${title} ${example.title} ${example.question} ${example.source}`.toLowerCase()
        options.push({ option, group, text, source: example.source })
        option.onclick = () => onChoose(example.source)
        group.append(option)
      }
      return group
    }),
  )
  return options
}

export default function ({ parentElement, data }) {
  const find = (selector) => parentElement.querySelector(selector)
  const [open, panel, input, list, none] = [".open", ".panel", "input", ".list", ".none"].map(find)

  const choose = (text) => {
    panel.hidePopover()
    announce("ax-replace", { text })
  }
  const options = fill(list, data.groups, choose)
  const isCurrent = ({ source }) => source === document.querySelector(".st-key-editor textarea")?.value

  let shown = options
  let active = null
  const activate = (next) => {
    active?.option.classList.remove("active")
    active = next
    active?.option.classList.add("active")
    active?.option.scrollIntoView({ block: "nearest" })
    input.setAttribute("aria-activedescendant", active?.option.id ?? "")
  }
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/)
    shown = options.filter(({ text }) => words.every((word) => text.includes(word)))
    const groups = new Set(shown.map(({ group }) => group))
    for (const { option, group } of options) {
      option.hidden = true
      group.hidden = !groups.has(group)
    }
    for (const { option } of shown) option.hidden = false
    none.hidden = shown.length > 0
    activate(input.value.trim() ? (shown[0] ?? null) : null)
  }

  const place = () => {
    const { left, bottom } = open.getBoundingClientRect()
    const width = Math.min(640, innerWidth - 20)
    panel.style.width = `${width}px`
    panel.style.left = `${Math.max(10, Math.min(left, innerWidth - width - 10))}px`
    panel.style.top = `${bottom + 4}px`
    panel.style.maxHeight = `${Math.max(240, innerHeight - bottom - 16)}px`
  }
  open.onclick = () => panel.togglePopover()
  panel.onbeforetoggle = ({ newState }) => {
    open.setAttribute("aria-expanded", newState === "open")
    if (newState !== "open") return
    for (const each of options) each.option.setAttribute("aria-selected", isCurrent(each))
    place()
    input.value = ""
    search()
  }
  panel.ontoggle = ({ newState }) => {
    if (newState !== "open") return
    input.focus()
    activate(options.find(isCurrent) ?? null)
  }
  input.oninput = search
  input.onkeydown = (event) => {
    const at = shown.indexOf(active)
    const last = shown.length - 1
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? last : at - 1, PageDown: at + 8, PageUp: at - 8 }[event.key]
    if (to !== undefined) activate(shown[Math.max(0, Math.min(to, last))] ?? null)
    else if (event.key === "Enter" && active) choose(active.source)
    else return
    event.preventDefault()
  }
}
