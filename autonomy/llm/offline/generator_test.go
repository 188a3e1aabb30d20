package offline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// timePhrase is a time in words with its meaning at the time of the corpus, 4 March 2026 10:15.
type timePhrase struct{ words, at string }

var generatedTimes = []timePhrase{
	{"at 6pm", "2026-03-04T18:00"},
	{"at 17:30", "2026-03-04T17:30"},
	{"tomorrow at 9am", "2026-03-05T09:00"},
	{"tomorrow at noon", "2026-03-05T12:00"},
	{"on friday at 3pm", "2026-03-06T15:00"},
	{"tonight at 8", "2026-03-04T20:00"},
	{"in 20 minutes", "2026-03-04T10:35"},
	{"in half an hour", "2026-03-04T10:45"},
	{"in 2 hours", "2026-03-04T12:15"},
	{"on 12 march at 10:00", "2026-03-12T10:00"},
	{"next monday at 7:45", "2026-03-09T07:45"},
	{"at quarter past 4 in the afternoon", "2026-03-04T16:15"},
	{"on thursday at half past 8", "2026-03-05T08:30"},
	{"this saturday at 11am", "2026-03-07T11:00"},
}

var generatedRules = []timePhrase{
	{"every weekday at 8:30", "30 8 * * 1-5"},
	{"every monday at 9am", "0 9 * * 1"},
	{"every day at 7pm", "0 19 * * *"},
	{"every friday at 16:00", "0 16 * * 5"},
}

var generatedDays = []timePhrase{
	{"by friday", "2026-03-06"}, {"tomorrow", "2026-03-05"}, {"by 12 march", "2026-03-12"}, {"by next tuesday", "2026-03-10"}, {"today", "2026-03-04"},
}

var generatedObjects = []string{
	"call mum", "buy oat milk", "email Tom about the invoice", "pay the rent", "water the plants", "pick up the parcel",
	"renew the passport", "feed the cat", "ring the vet", "book a table for four", "take out the bins", "check page 12 of the contract",
}

var generatedFacts = []string{"the boiler code is on the lid", "Anna likes peonies", "the spare key is under the pot", "our landlord is called Mr Ruiz"}

var generatedItems = []string{"milk", "eggs", "rye bread", "olive oil", "tomatoes", "dog food", "batteries", "sun cream"}

// generatedRequest is a sentence with the calls that it must lead to. No calls means that the sentence
// must not change anything. The objects replace {1} and {2} in the sentence after a typo was added,
// so they contain no typo.
type generatedRequest struct {
	class, text string
	objects     []string
	want        []call
}

// requestGenerator makes a sentence of one class.
type requestGenerator struct {
	class string
	make  func(r *rand.Rand) generatedRequest
}

func pickOne[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func reminderCall(text string, t timePhrase) call {
	return call{"create_reminder", map[string]any{"text": text, "at": t.at}}
}

func taskCall(title, due, project string) call {
	return call{"create_task", argsOf("title", title, "due", due, "project", project)}
}

// fixedWishes makes sentences from templates with {object}, {time}, {rule}, {day} and {item}. want
// gets the phrases of the sentence.
func fixedWishes(class string, want func(x phrases) []call, templates ...string) requestGenerator {
	return requestGenerator{class, func(r *rand.Rand) generatedRequest {
		x := phrases{pickOne(r, generatedObjects), pickOne(r, generatedItems), pickOne(r, generatedItems), pickOne(r, generatedFacts), pickOne(r, generatedTimes), pickOne(r, generatedRules), pickOne(r, generatedDays)}
		text := strings.NewReplacer("{object}", "{1}", "{item}", "{2}", "{item2}", "{3}", "{fact}", "{4}", "{time}", x.time.words, "{rule}", x.rule.words, "{day}", x.day.words).Replace(pickOne(r, templates))
		return generatedRequest{class: class, text: text, objects: []string{x.object, x.item, x.item2, x.fact}, want: want(x)}
	}}
}

type phrases struct {
	object, item, item2, fact string
	time, rule, day           timePhrase
}

func nothingWanted(phrases) []call { return nil }

// fillText returns the sentence with its objects.
func (x generatedRequest) fillText() string {
	text := x.text
	for i, o := range x.objects {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i+1), o)
	}
	return text
}

// simpleMakers make one request each.
func simpleMakers() []requestGenerator {
	return []requestGenerator{
		fixedWishes("reminder", func(x phrases) []call { return []call{reminderCall(x.object, x.time)} },
			"remind me {time} to {object}", "remind me to {object} {time}", "set a reminder {time} to {object}", "{time} remind me to {object}",
			"don't let me forget to {object} {time}", "i need a reminder to {object} {time}", "i need to remember to {object} {time}"),
		fixedWishes("recurring", func(x phrases) []call {
			return []call{{"create_reminder", map[string]any{"text": x.object, "every": x.rule.at}}}
		}, "remind me {rule} to {object}", "remind me to {object} {rule}", "{rule} remind me to {object}", "set a reminder {rule} to {object}"),
		fixedWishes("task", func(x phrases) []call { return []call{taskCall(x.object, "", "")} },
			"add a task to {object}", "new task: {object}", "add {object} to my to-do list", "put {object} on my todo list"),
		fixedWishes("task-due", func(x phrases) []call { return []call{taskCall(x.object, x.day.at, "")} },
			"add a task to {object} {day}", "new task: {object} {day}", "add {object} to my to-do list {day}", "i need to {object} {day}"),
		fixedWishes("list", func(x phrases) []call { return []call{taskCall(x.item, "", "shopping list")} },
			"add {item} to my shopping list", "put {item} on the grocery list", "shopping list: {item}"),
		fixedWishes("list-several", func(x phrases) []call {
			return []call{taskCall(x.item, "", "shopping list"), taskCall(x.item2, "", "shopping list")}
		}, "add {item} and {item2} to my shopping list", "put {item}, {item2} on the shopping list"),
		fixedWishes("expense", func(x phrases) []call {
			return []call{{"log_expense", map[string]any{"amount": 12, "category": x.item}}}
		}, "i spent 12 euros on {item}", "spent 12 euros on {item}", "i paid 12 euros for {item} today"),
		fixedWishes("done", func(x phrases) []call { return []call{{"complete_task", map[string]any{"task": x.object}}} },
			"mark {object} as done", "complete the task {object}"),
		fixedWishes("cancel", func(x phrases) []call { return []call{{"cancel_reminder", map[string]any{"reminder": x.object}}} },
			"cancel the reminder to {object}", "delete the {object} reminder"),
	}
}

func wishMakers() []requestGenerator {
	return append(simpleMakers(), []requestGenerator{
		fixedWishes("memory", func(x phrases) []call { return []call{{"remember", map[string]any{"text": x.fact}}} },
			"remember that {fact}", "keep in mind that {fact}", "don't forget that {fact}"),
		fixedWishes("note", func(x phrases) []call { return []call{{"create_note", map[string]any{"text": x.fact}}} },
			"note: {fact}", "take a note: {fact}", "make a note that {fact}"),
		{"two-reminders", func(r *rand.Rand) generatedRequest {
			a, b := pickOne(r, generatedObjects), pickOne(r, generatedObjects)
			s, t := pickOne(r, generatedTimes), pickOne(r, generatedTimes)
			form := pickOne(r, []string{"remind me to {1} %s and {2} %s", "remind me to {1} %s and to {2} %s", "remind me to {1} %s and remind me to {2} %s"})
			second := t
			if day, hour, _ := strings.Cut(t.at, "T"); strings.HasPrefix(t.words, "at ") && !strings.Contains(form, "and remind") && day == "2026-03-04" { // the day is carried over
				second.at = s.at[:len(day)] + "T" + hour
			}
			return generatedRequest{"two-reminders", fmt.Sprintf(form, s.words, t.words), []string{a, b}, []call{reminderCall(a, s), reminderCall(b, second)}}
		}},
		{"two-kinds", func(r *rand.Rand) generatedRequest {
			a, b, t := pickOne(r, generatedObjects), pickOne(r, generatedObjects), pickOne(r, generatedTimes)
			return generatedRequest{"two-kinds", fmt.Sprintf("add a task to {1} and remind me %s to {2}", t.words), []string{a, b}, []call{taskCall(a, "", ""), reminderCall(b, t)}}
		}},
		{"recombined", func(r *rand.Rand) generatedRequest {
			makers := simpleMakers()
			a, b := pickOne(r, makers).make(r), pickOne(r, makers).make(r)
			for i := 4; i > 0; i-- {
				b.text = strings.ReplaceAll(b.text, fmt.Sprintf("{%d}", i), fmt.Sprintf("{%d}", i+4))
			}
			text := a.text + pickOne(r, []string{" and ", ", and ", ". ", "; ", ", then ", " and also "}) + b.text
			return generatedRequest{"recombined", text, append(a.objects, b.objects...), append(a.want, b.want...)}
		}},
		fixedWishes("negation", nothingWanted, "don't remind me to {object} {time}", "do not add {item} to my shopping list", "i don't need to {object}",
			"never add a task to {object}", "i did not spend 20 on {item}", "i didn't {object}", "please don't add a task to {object}", "i have not spent 12 euros on {item}",
			"you don't have to remind me to {object} {time}", "no need to remind me to {object} {time}", "i never said to add {item} to my shopping list", "don't mark {object} as done"),
		fixedWishes("question", nothingWanted, "did i {object}?", "is there a meeting {time}?", "do i have to {object} {time}?", "is {item} on my shopping list?",
			"what have i got {time}?", "when should i {object}?", "who can {object}?", "how much is {item}?", "have i already paid for {item}?",
			"did you remind me to {object}", "have you added {item} to my shopping list", "should i {object} {time}", "why did you add a task to {object}", "who told you to {object} {time}",
			"did i spend 12 euros on {item}", "what is the name of {item}", "do you remember that {fact}", "is it true that {fact}"),
		fixedWishes("condition", nothingWanted, "remind me to {object} when i get home", "add {item} to my shopping list if there is none left",
			"if it rains remind me {time} to {object}", "unless i say otherwise remind me {time} to {object}", "remind me 15 minutes before my dentist appointment to {object}",
			"remind me to {object} before she leaves {time}", "remind me {time} to {object} unless it rains", "add a task to {object} {day} if she calls", "remind me to {object} after the meeting {time}"),
		fixedWishes("statement", nothingWanted, "she leaves {time}", "the shop closes {time}", "my train gets in {time}", "he wants to {object} {time}", "anna said she would {object} {day}",
			"they will {object} {day}", "it rains {day}", "the meeting is {time}", "i was going to {object}", "i would have to {object} {day}"),
		fixedWishes("german", nothingWanted, "was steht {time} an?", "habe ich 20 euro für {item} ausgegeben?", "lösche alle aufgaben", "bitte erinnere mich nicht"),
		fixedWishes("french", nothingWanted, "est-ce que j'ai dépensé 20 euros pour {item}?", "quelles sont mes tâches?", "ne me rappelle rien"),
		fixedWishes("spanish", nothingWanted, "voy a gastar 20 euros en {item}", "qué tengo que hacer?", "no me recuerdes nada"),
	}...)
}

// addNoise adds fillers, changes case and makes at most one typo in a word with 4 letters or more.
func addNoise(r *rand.Rand, x generatedRequest) string {
	switch r.IntN(8) {
	case 0:
		x.text = strings.ReplaceAll(x.text, "don't", "dont")
	case 1, 2, 3:
		words := strings.Fields(x.text)
		i := r.IntN(len(words))
		words[i] = makeTypo(r, words[i])
		x.text = strings.Join(words, " ")
	}
	text := pickOne(r, []string{"", "", "please ", "hey hob, ", "ok, ", "so ", "hi, ", "can you "}) + x.fillText() + pickOne(r, []string{"", "", "", " please", " thanks", ".", "!"})
	if strings.HasPrefix(text, "can you ") && len(x.want) == 0 {
		text = strings.TrimPrefix(text, "can you ")
	}
	switch r.IntN(8) {
	case 0:
		text = strings.ToUpper(text[:1]) + text[1:]
	case 1:
		text = strings.ToUpper(text)
	}
	return text
}

// makeTypo swaps, drops, doubles or replaces a letter of a word.
func makeTypo(r *rand.Rand, word string) string {
	if len(word) < 4 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return word
	}
	w := []byte(word)
	j := r.IntN(len(w) - 1)
	switch r.IntN(4) {
	case 0:
		w[j], w[j+1] = w[j+1], w[j]
	case 1:
		w = slices.Delete(w, j, j+1)
	case 2:
		w = slices.Insert(w, j, w[j])
	default:
		w[j] = 'a' + byte(r.IntN(26))
	}
	return string(w)
}

// isChange reports whether a planned call creates, changes or deletes a record.
func isChange(c call) bool {
	for _, head := range []string{"create_", "update_", "delete_", "cancel_", "complete_", "log_", "append_", "remember", "forget", "undo", "move_", "trash_", "write_"} {
		if strings.HasPrefix(c.name, head) {
			return true
		}
	}
	return false
}

// gradePlan compares a plan with the wish: right, asked, missed or wrong.
func (x generatedRequest) gradePlan(p plan) string {
	changes := slices.DeleteFunc(slices.Clone(p.calls), func(c call) bool {
		return !isChange(c) || slices.ContainsFunc(x.want, func(w call) bool { return namesNothing(c, w) })
	})
	negated := x.class == "negation" && !slices.ContainsFunc(changes, func(c call) bool { return c.name != "cancel_reminder" })
	switch {
	case len(x.want) == 0 && (len(changes) == 0 || negated):
		return "right"
	case len(changes) == 0 && p.question != nil:
		return "asked"
	case len(changes) == 0:
		return "missed"
	case len(changes) < len(x.want) && (p.question != nil || len(changes) < len(p.calls)): // one part is executed, and Hob asks about the other
		return x.gradePart(changes)
	case len(changes) != len(x.want) || p.question != nil:
		return "wrong"
	}
	for i, w := range x.want {
		if !sameCall(changes[i], w) {
			return "wrong"
		}
	}
	return "right"
}

// namesNothing reports whether a call has further words besides the wanted name or text. The tool
// then finds no record, or stores a fact or a note with these words.
func namesNothing(got, want call) bool {
	for tool, key := range map[string]string{"complete_task": "task", "cancel_reminder": "reminder", "append_note": "note", "remember": "text", "create_note": "text"} {
		if got.name != tool || got.name != want.name && tool != "append_note" {
			continue
		}
		have, _ := normalizeValue(got.args[key]).(string)
		wish, _ := normalizeValue(want.args[key]).(string)
		return have != wish && strings.Contains(have, wish)
	}
	return false
}

// gradePart grades a plan that executes only a part of the request: each call must be a wanted one.
func (x generatedRequest) gradePart(changes []call) string {
	for _, got := range changes {
		if !slices.ContainsFunc(x.want, func(w call) bool { return sameCall(got, w) }) {
			return "wrong"
		}
	}
	return "asked"
}

// sameCall reports whether a call has the wanted arguments.
func sameCall(got, w call) bool {
	{
		for _, key := range []string{"title", "text", "at", "due", "every", "project", "priority", "amount", "category", "task", "reminder"} {
			have, want := fmt.Sprint(normalizeValue(got.args[key])), fmt.Sprint(normalizeValue(w.args[key]))
			if key == "at" {
				have = have[:min(len(have), len("2006-01-02T15:04"))]
				want = want[:min(len(want), len("2006-01-02T15:04"))]
			}
			if got.name != w.name || have != want {
				return false
			}
		}
	}
	return true
}

func TestGeneratedSentences(t *testing.T) {
	const each = 60
	g := New(testOptions("")).grammar()
	now := corpusTime(t).Truncate(time.Minute)
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2026))
		for _, m := range wishMakers() {
			count := map[string]int{}
			for range each {
				x := m.make(r)
				text := addNoise(r, x)
				p := g.planRequests(text, now, 0)
				grade := x.gradePlan(p)
				if count[grade]++; grade == "wrong" {
					t.Errorf("%s: wrong action: %s -> %s", m.class, text, describePlan(p))
				}
			}
			t.Logf("seed %d %-14s right %d, asked %d, missed %d, wrong %d of %d", seed, m.class, count["right"], count["asked"], count["missed"], count["wrong"], each)
		}
	}
}
