package offline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hob/platform/text/textnorm"
)

func listBuilders() map[string]builder {
	return map[string]builder{
		"list.add":    addToList,
		"list.need":   needItems,
		"list.empty":  offerItems,
		"list.show":   showList,
		"list.tick":   tickOff,
		"follow.have": askToTakeOff,
		"list.clear":  func(w *intentDraft) (plan, bool) { return w.clearList(w.listName()) },
		"list.more":   addMoreItems,
		"list.off":    takeItemsOff,
		"list.left":   showOpenList,
		"list.unlist": takeNamedOff,
		"list.wipe":   func(w *intentDraft) (plan, bool) { return w.clearList(w.g.talk.openList()) },
		"list.buy":    offerItems,
		"list.names":  showListNames,
		"list.any":    showAnyList,
	}
}

// openList returns the named list that the conversation is about: the latest exchange that used a list
// or a task decides.
func (d *dialogue) openList() string {
	for n := range recent {
		x, ok := d.exchangeAgo(n)
		if !ok {
			return ""
		}
		for _, p := range slices.Backward(x.acts) {
			if project := p.stringArg("project"); strings.HasSuffix(project, " list") && (project == "shopping list" || !strings.HasPrefix(p.text, "There are no open tasks in")) { // another one may not exist
				return project
			}
			if m := projectForm.FindStringSubmatch(p.text); m != nil && p.tool == "update_task" {
				return m[1]
			}
		}
		if slices.ContainsFunc(x.acts, func(p pastCall) bool {
			return !p.lookup && p.tool != "delete_task" && p.tool != "recall" && p.tool != "search_knowledge"
		}) {
			return ""
		}
	}
	return ""
}

// listName returns the project that holds a named list, or "" if the name is not a list. All names
// of the shopping list mean the same list. "packing list for Greece" is the Greece packing list,
// and "packing list" is the packing list that the conversation is about.
func (w *intentDraft) listName() string {
	name := cmp.Or(w.slotNorm("list"), bareName(w.slotString("word_list")), bareName(w.slotString("few_list")), bareName(w.slotString("few_name")))
	switch lower := strings.ToLower(name); {
	case w.g.lex.containsWord("no-lists", lower):
		return ""
	case lower == "" && w.hasSlot("few_name"), lower != "" && w.g.isUnspecific(lower), w.hasSlot("few_list") && w.mentionsOther(lower), strings.Contains(lower, " and "):
		return ""
	case lower == "", lower == "grocery", lower == "groceries", lower == "food", lower == "supermarket":
		name = "shopping"
	}
	for _, all := range []string{"whole ", "entire ", "full ", "complete "} { // "the whole shopping list"
		name = strings.TrimPrefix(name, all)
	}
	name = strings.TrimSuffix(name, " list") + " list"
	owner := w.slotString("few_for")
	if owner != "" && (bareName(owner) == owner || strings.Contains(bareName(owner), " ")) { // "the trip" is not a name, "the Greece trip" is
		return bareName(owner) + " " + name
	}
	if open := w.g.talk.openList(); strings.HasSuffix(open, " "+name) {
		return open
	}
	return name
}

// isNamedList reports whether the sentence names a list and gives no day after "for".
func (w *intentDraft) isNamedList() bool {
	c, _ := w.captureOf("few_for")
	if _, ordinal := ordinalOf(firstField(w.listName())); ordinal { // "the first list"
		return false
	}
	return w.noLead() && w.listName() != "" && !w.s.hasWordOf(c.from, c.to, "anchors", "negations") && len(w.s.timesInside(c.from, c.to)) == 0
}

// listProjects returns the named lists of the listed tasks with the number of their items.
func listProjects(results []done) (names []string, count map[string]int) {
	count = map[string]int{}
	if len(results) == 0 || results[0].result == nil || results[0].result.Error {
		return nil, count
	}
	for _, m := range projectForm.FindAllStringSubmatch(results[0].result.Text, -1) {
		if count[m[1]]++; count[m[1]] == 1 {
			names = append(names, m[1])
		}
	}
	return names, count
}

// theList returns the list that "the list" means: the one that the conversation is about, the only one, or
// the shopping list.
func (w *intentDraft) theList(results []done) string {
	names, _ := listProjects(results)
	if open := w.g.talk.openList(); open != "" || len(names) != 1 {
		return cmp.Or(open, "shopping list")
	}
	return names[0]
}

// askWhichList asks whether an item is something to buy or to do.
func askWhichList(title string) plan {
	add := func(args map[string]any) plan {
		return plan{outcome: act, accounted: true, calls: []call{{"create_task", args}}}
	}
	return plan{outcome: ask, question: &question{text: "On your shopping list or your to-do list?", options: []option{
		{"shopping list", add(argsOf("title", bareName(title), "project", "shopping list"))}, {"todo to do list tasks", add(argsOf("title", title))},
	}}}
}

// addToOpenList handles "add bread to the list" if bread is something to buy and not a task.
func (w *intentDraft) addToOpenList() (plan, bool) {
	part := *w
	c, _ := w.captureOf("title")
	part.caps = []capture{{name: "items", from: c.from, to: c.to}}
	items := part.listedGoods()
	if first := w.s.firstWord(c.from); len(items) > 0 && w.g.talk.openList() == "" && (first == "the" || first == "my") { // "put the car tax on my list"
		return askWhichList(w.slotString("title")), true
	}
	if quoted := w.s.tokens[c.from]; quoted.inner != "" && c.to == c.from+1 && strings.Contains(quoted.inner, " ") && w.g.talk.openList() == "" { // add "ask Tom about Christmas" to my list
		return noPlan()
	}
	if len(items) == 0 || !w.noLead() || slices.ContainsFunc(items, func(s string) bool {
		verb, _, more := strings.Cut(strings.ToLower(s), " ")
		return more && (w.g.lex.containsWord("task-verbs", verb) || w.g.lex.containsWord("task-nouns", verb))
	}) {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		if names, _ := listProjects(results); len(names) == 0 && w.g.talk.openList() == "" && len(items) == 1 && strings.Contains(items[0], " ") { // "add tax papers to my list"
			return askWhichList(items[0])
		}
		p, _ := planItems("create_task", "title", w.theList(results), items)
		return p
	}, call{"list_tasks", nil})
}

// showListNames handles "show my lists".
func showListNames(w *intentDraft) (plan, bool) {
	return planLookup(func(results []done) plan {
		names, count := listProjects(results)
		if len(names) == 0 {
			return plan{outcome: chat, say: "You have no list with open items. To start one, say \"add milk to my shopping list\"."}
		}
		slices.Sort(names)
		for i, name := range names {
			names[i] = name + " (" + strconv.Itoa(count[name]) + ")"
		}
		return plan{outcome: chat, say: "Your lists: " + strings.Join(names, ", ") + "."}
	}, call{"list_tasks", nil})
}

// showAnyList handles "is milk on the list?".
func showAnyList(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	return planLookup(func(results []done) plan {
		p, _ := w.planList(w.theList(results))
		return p
	}, call{"list_tasks", nil})
}

// clearList takes all items off a list after a confirmation.
func (w *intentDraft) clearList(list string) (plan, bool) {
	if list == "" || !w.noLead() || w.isAsking() {
		return noPlan()
	}
	read := func(results []done) foundRecords { return readRecords(results, w.s.now) }
	return confirmEach("item", "take %s off your "+list, "Your "+list+" is empty.", call{"list_tasks", argsOf("project", list)}, read,
		func(_ record, ref string) (call, bool) {
			return call{"complete_task", argsOf("task", ref, "project", list)}, true
		})
}

func addToList(w *intentDraft) (plan, bool) {
	if !w.isNamedList() {
		return noPlan()
	}
	c, _ := w.captureOf("items")
	if first := w.s.firstWord(0); w.hasSlot("items") && c.from == 0 && (w.g.lex.containsWord("task-verbs", first) || w.g.lex.containsWord("task-nouns", first) || w.s.hasWordOf(c.from, c.to, "all-items", "telling-verbs", "knowing-verbs") || w.isQuestion() || w.g.starters[first] || w.s.hasWordOf(c.from, c.to, "linking-verbs", "auxiliaries") || slices.ContainsFunc([]string{"questions", "pronouns", "to-hob", "negations", "question-determiners", "auxiliaries"}, func(list string) bool { return w.g.lex.containsWord(list, first) })) {
		return noPlan() // "what's left on the shopping list"
	}
	if w.s.hasWordOf(c.from, c.to, "knowing-verbs") || w.s.firstWord(0) == "i" && w.s.hasWordOf(c.from, c.to, "linking-verbs") { // "I need to know what is on my list"
		return noPlan()
	}
	if _, _, times := w.s.liftTimes(c.from, c.to); len(times) > 0 {
		return planQuestion(w.g.replyText("list-time", "{list}", w.listName()), nil)
	}
	items := w.itemsIn("items")
	if len(items) == 0 {
		return planQuestion("What should I add to the "+w.listName()+"?", w.itemsAnswer(w.listName()))
	}
	list := w.listName()
	added, ok := planItems("create_task", "title", list, items)
	if !w.hasSlot("word_list") && !w.hasSlot("few_list") {
		return added, ok
	}
	return planLookup(func(results []done) plan { // any word may be the name of a list that exists
		if len(results) > 0 && strings.HasPrefix(results[0].result.Text, "There are no open tasks") {
			return planConfirmation("You have no "+list+" yet. Should I start one with "+strings.Join(items, ", ")+"?", added)
		}
		return added
	}, call{"list_tasks", argsOf("project", list)})
}

// itemsAnswer returns a function that completes the request to add something from an answer such as "milk"
// or "add milk then".
func (w *intentDraft) itemsAnswer(list string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		part := *w
		part.s = w.g.parseSentence(answer, w.s.now)
		items := capture{to: len(part.s.tokens)}
		if slots, ok := part.tryEdge("prefix.items", items); ok {
			items = slots["rest"]
		}
		text := part.s.originalText(items.from, items.to)
		return "add " + text + " to my " + list, text != ""
	}
}

// planItems returns the plan that calls a tool for each item of a list.
func planItems(tool, arg, list string, items []string) (plan, bool) {
	out := plan{outcome: act}
	for _, item := range items {
		out.calls = append(out.calls, call{tool, argsOf(arg, item, "project", list)})
	}
	return out, len(items) > 0
}

// maxItemWords is the maximum number of words in something to buy.
const maxItemWords = 5

// itemsIn returns the items that a slot enumerates, or none if one of them is unclear. A piece that only
// holds an amount belongs to the item before it: "mince, 1.4 kg".
func (w *intentDraft) itemsIn(slot string) (items []string) {
	if c, ok := w.captureOf(slot); ok && c.to == c.from+1 && w.s.tokens[c.from].kind == quoted {
		return []string{w.slotString(slot)}
	}
	for _, item := range w.g.splitEnumeration(w.slotString(slot)) {
		first, _, _ := strings.Cut(strings.ToLower(item), " ")
		if first, _, _ = strings.Cut(first, "'"); len(items) > 0 && w.g.lex.containsWord("clause-starts", first) && !w.g.isOwnThing(item) {
			break // "take off the sugar, we have some"
		}
		item = listItem(item)
		if w.isAmount(item) && len(items) > 0 {
			items[len(items)-1] += ", " + item
			continue
		}
		if w.g.isUnspecific(item) || w.mentionsOther(item) {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// isOwnThing reports whether an item is a thing of the user and no clause: "my book", unlike "my wife has some".
func (g *grammar) isOwnThing(item string) bool {
	words := strings.Fields(strings.ToLower(item))
	return len(words) > 1 && len(words) < 4 && (words[0] == "my" || words[0] == "our") && !slices.ContainsFunc(words[1:], func(f string) bool {
		return g.lex.containsWord("clause-verbs", f) || g.lex.containsWord("linking-verbs", f) || g.lex.containsWord("perfect-verbs", f)
	})
}

// isAmount reports whether s is a number with or without a unit.
func (w *intentDraft) isAmount(s string) bool {
	f := strings.Fields(strings.ToLower(s))
	if len(f) == 0 || len(f) > 2 || !unicode.IsDigit(rune(f[0][0])) {
		return false
	}
	_, unit := w.g.lex.meaningOf("measures", f[len(f)-1])
	return len(f) == 1 || unit || w.g.lex.containsWord("units", f[1])
}

// listedGoods returns the items of a request if each of them may be something to buy.
func (w *intentDraft) listedGoods() []string {
	c, ok := w.captureOf("items")
	if !ok || len(w.s.timesInside(c.from, c.to)) > 0 || w.isQuestion() {
		return nil
	}
	items := w.itemsIn("items")
	for _, item := range items {
		words := strings.Fields(strings.ToLower(item))
		if len(words) > maxItemWords || w.g.isOnlyReference(item) || slices.ContainsFunc(words, func(f string) bool { return w.g.lex.containsWord("no-goods", strings.Trim(f, ".,!")) }) {
			return nil
		}
	}
	return items
}

// needItems handles "i need eggs, flour and sugar" and "we have to buy milk and bread". For a
// single item, Hob asks first, because the item may not be something to buy: "i need a break".
func needItems(w *intentDraft) (plan, bool) {
	items := w.listedGoods()
	switch {
	case len(items) == 0 || !w.noLead() || strings.HasPrefix(w.slotNorm("items"), "the "): // "I need the conversion ..."
		return noPlan()
	case len(items) > 1:
		return planItems("create_task", "title", "shopping list", items)
	case w.hasKeyword("to"), w.hasKeyword("must"), w.hasKeyword("should"), w.hasArticle("items"):
		return noPlan() // a task, or "i need a new phone"
	}
	return w.offerGoods(items)
}

// hasArticle reports whether a slot begins with "a" or another word for a single thing.
func (w *intentDraft) hasArticle(slot string) bool {
	first, _, _ := strings.Cut(w.slotNorm(slot), " ")
	return bareName(first+" x") == "x"
}

// offerItems handles "we are out of milk".
func offerItems(w *intentDraft) (plan, bool) {
	items := w.listedGoods()
	if len(items) == 0 || !w.noLead() {
		return noPlan()
	}
	return w.offerGoods(items)
}

func (w *intentDraft) offerGoods(items []string) (plan, bool) {
	return planQuestion("Should I add "+strings.Join(items, " and ")+" to your shopping list?", func(answer string) (string, bool) {
		yes, more, ok := strings.Cut(" "+strings.ToLower(answer), " and ") // "and butter", "yes, and butter"
		if ok && (strings.Trim(yes, " ,") == "" || w.g.isYes(yes, w.s.now)) && !w.mentionsOther(more) {
			return "add " + strings.Join(items, ", ") + ", " + more + " to my shopping list", true
		}
		return "add " + strings.Join(items, ", ") + " to my shopping list", w.g.isYes(answer, w.s.now)
	})
}

// addMoreItems continues a list: "and baking powder", "add mince then, 1.4 kg".
func addMoreItems(w *intentDraft) (plan, bool) {
	list := w.g.talk.openList()
	told := w.hasKeyword("add") || w.hasKeyword("put")
	if list == "" || !w.noLead() || !told && !w.beginsWithAnd() && !w.hasKeyword("too") && !w.hasKeyword("well") {
		return noPlan()
	}
	items := w.listedGoods()
	if len(items) == 0 {
		return noPlan()
	}
	if !told {
		alone := w.g.inDialogue(nil)
		if p := alone.planSingle(alone.parseSentence(w.slotString("items"), w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
			return noPlan()
		}
	}
	added, ok := planItems("create_task", "title", list, items)
	if w.hasKeyword("on") && !w.hasKeyword("it") && !w.hasKeyword("list") && !w.hasKeyword("there") { // "put the kettle on" is no item
		return planConfirmation("Should I add "+strings.Join(items, ", ")+" to your "+list+"?", added), ok
	}
	return added, ok
}

// takeItemsOff handles "take off the sugar" and "got the eggs" while the conversation is about a
// list.
func takeItemsOff(w *intentDraft) (plan, bool) {
	list := w.g.talk.openList()
	if list == "" || !w.noLead() || slices.ContainsFunc(w.listedGoods(), w.isNoGoods) {
		return noPlan()
	}
	return planItems("complete_task", "task", list, w.listedGoods())
}

// askToTakeOff asks whether goods that the user still has should come off the list.
func askToTakeOff(w *intentDraft) (plan, bool) {
	list := w.g.talk.openList()
	items := w.listedGoods()
	if list == "" || len(items) == 0 || !w.noLead() || w.isQuestion() {
		return noPlan()
	}
	said := ""
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		said += " " + strings.ToLower(x.own+" "+x.reply)
	}
	if slices.ContainsFunc(items, func(it string) bool { return !strings.Contains(said, strings.ToLower(it)) }) {
		return noPlan()
	}
	p, ok := planItems("complete_task", "task", list, items)
	if !ok {
		return noPlan()
	}
	return planConfirmation("Should I take "+strings.Join(items, " and ")+" off your "+list+"?", p), true
}

// showOpenList handles "what's left?" and "show me the list".
func showOpenList(w *intentDraft) (plan, bool) {
	list := w.g.talk.openList()
	if list == "" || !w.noLead() {
		return noPlan()
	}
	return w.planList(list)
}

// planList returns the plan that shows a list, or answers whether an item is on it.
func (w *intentDraft) planList(list string) (plan, bool) {
	p, ok := planCall("list_tasks", argsOf("project", list))
	name := listItem(w.slotString("item"))
	if w.g.isOnlyReference(name) && name != "" { // "is it on there now?"
		it, known := w.g.talk.focusItem()
		if !known || it.kind != "task" {
			return noPlan()
		}
		name = it.ref
	}
	if name != "" {
		p.format = func(text string) string {
			for _, it := range listedItems("list_tasks", text) {
				if hasEveryWord(it.line, textnorm.FoldedWords(name)) {
					return "Yes, " + quoteText(it.ref) + " is on your " + list + "."
				}
			}
			return "No, " + quoteText(name) + " is not on your " + list + "."
		}
	}
	return p, ok
}

// listItem returns an item without "some" and articles.
func listItem(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(s), "buy "), "some "), "of ")
	for _, tail := range []string{" then", " too", " please", " as well", " again"} {
		s = strings.TrimSuffix(s, tail)
	}
	return bareName(s)
}

// mentionsOther reports whether an item contains a word that changes the request, such as a
// negation, a condition or a second request.
func (w *intentDraft) mentionsOther(item string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(item)), func(f string) bool {
		return w.g.lex.containsWord("item-breakers", f)
	})
}

func showList(w *intentDraft) (plan, bool) {
	if !w.isNamedList() {
		return noPlan()
	}
	if w.hasKeyword("buy") { // and a task, such as "buy a lamp"
		return planCalls(call{"list_tasks", argsOf("project", w.listName())}, call{"list_tasks", argsOf("query", "buy")})
	}
	list := w.listName()
	if w.hasSlot("few_for") || list == "shopping list" || len(w.g.talk.addedTo(list)) > 0 {
		return w.planList(list)
	}
	return planLookup(func(results []done) plan {
		if len(results) == 0 || results[0].result == nil || !strings.HasPrefix(results[0].result.Text, "There are no open tasks") {
			p, _ := w.planList(list)
			return p
		}
		p, _ := planLookup(func(results []done) plan { return w.showListLike(list, results) }, call{"list_tasks", nil})
		return p
	}, call{"list_tasks", argsOf("project", list)})
}

// isNoGoods reports whether a text names people or a time instead of goods.
func (w *intentDraft) isNoGoods(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	return slices.ContainsFunc(words, func(f string) bool { return w.g.lex.containsWord("time-words", f) || f == "kids" || f == "children" })
}

func tickOff(w *intentDraft) (plan, bool) {
	if !w.isNamedList() {
		return noPlan()
	}
	if ref := strings.TrimSpace(w.slotString("item") + " " + w.slotString("few_item")); w.g.isOrdinal(ref) {
		if open := w.g.talk.openList(); open != "" || w.hasSlot("list") {
			return w.tickNth(cmp.Or(open, w.listName()), ref)
		}
		return noPlan()
	}
	items := append(w.itemsIn("item"), w.itemsIn("few_item")...)
	if slices.ContainsFunc(items, w.isNoGoods) { // "got the kids this weekend"
		return noPlan()
	}
	if len(items) == 0 {
		return planQuestion("Which item on the "+w.listName()+"?", fillBetween("cross", "off my "+w.listName()))
	}
	return planItems("complete_task", "task", w.listName(), items)
}
