// Package year generates what one person tells an assistant, stores and receives in a year: facts
// and their corrections, notes, conversations, documents, mail, and many rows that matter to no
// question. It also generates questions with their answers, and messages that no stored row helps
// with. TestAutomaticRecall measures automatic recall with it.
//
// The generator does not use the ranking. The same seed gives the same year.
package year

import (
	_ "embed" // embeds the texts
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Row is one stored text.
type Row struct {
	Kind    string // fact, note, turn, chunk (a document or an email) or task
	Title   string
	Text    string
	Speaker string // author of a turn: owner or hob
	Group   string
	Pos     int
	At      time.Time
	Outside bool // written by another person
}

// Question is a message that stored text answers. The answer is shown if the prompt contains Want.
type Question struct {
	Category, Text, Want string
}

// Year is a generated year.
type Year struct {
	Rows       []Row
	Questions  []Question
	Irrelevant []string
}

//go:embed texts.txt
var texts string

// readSection returns the lines of a section of texts.txt.
func readSection(name string) (out []string) {
	_, rest, ok := strings.Cut(texts, "\n# "+name+"\n")
	if !ok {
		panic("year: no section " + name)
	}
	rest, _, _ = strings.Cut(rest, "\n# ")
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// generator holds the state of a generation.
type generator struct {
	*rand.Rand

	start  time.Time
	y      Year
	people []string
	group  int
	order  int
}

// Generate returns the year before end with n questions.
func Generate(seed uint64, end time.Time, n int) Year {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), start: end.AddDate(-1, 0, 0)}
	g.inventPeople()
	g.addPersonFacts()
	g.addOwnFacts()
	g.addNotesAndDocuments()
	g.addEvents()
	g.addMail()
	g.addNoise()
	slices.SortStableFunc(g.y.Rows, func(a, b Row) int { return a.At.Compare(b.At) })
	g.y.Questions = g.chooseQuestions(n)
	g.y.Irrelevant = readSection("irrelevant")
	return g.y
}

// chooseQuestions chooses n questions, evenly over the categories.
func (g *generator) chooseQuestions(n int) (out []Question) {
	by := map[string][]Question{}
	var names []string
	for _, q := range g.y.Questions {
		if by[q.Category] == nil {
			names = append(names, q.Category)
		}
		by[q.Category] = append(by[q.Category], q)
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b Question) int { return strings.Compare(a.Text, b.Text) })
	}
	for _, name := range names {
		g.Shuffle(len(by[name]), func(i, j int) { by[name][i], by[name][j] = by[name][j], by[name][i] })
	}
	for i := 0; len(out) < n; i++ {
		before := len(out)
		for _, name := range names {
			if i < len(by[name]) && len(out) < n {
				out = append(out, by[name][i])
			}
		}
		if len(out) == before {
			panic("year: only " + strconv.Itoa(len(out)) + " questions")
		}
	}
	return out
}

func (g *generator) pickOne(list []string) string { return list[g.IntN(len(list))] }

// randomDay returns a random time in a part of the year. from and to are fractions of the year.
func (g *generator) randomDay(from, to float64) time.Time {
	x := from + (to-from)*g.Float64()
	return g.start.Add(time.Duration(x * 365 * 24 * float64(time.Hour))).Truncate(time.Minute)
}

func (g *generator) addRow(r Row) {
	g.y.Rows = append(g.y.Rows, r)
}

func (g *generator) addQuestion(category, text, want string) {
	g.y.Questions = append(g.y.Questions, Question{category, text, want})
}

// inventPeople makes 40 people. Some share their first name.
func (g *generator) inventPeople() {
	first, last := readSection("first names"), readSection("last names")
	g.Shuffle(len(last), func(i, j int) { last[i], last[j] = last[j], last[i] })
	for i := range 40 {
		g.people = append(g.people, first[i%len(first)]+" "+last[i])
	}
}

// hasNamesake reports whether the first name of a person is not unique.
func (g *generator) hasNamesake(p string) bool {
	name, _, _ := strings.Cut(p, " ")
	n := 0
	for _, x := range g.people {
		if strings.HasPrefix(x, name+" ") {
			n++
		}
	}
	return n > 1
}

// referTo returns how the user refers to a person in a question.
func (g *generator) referTo(p string) string {
	if name, _, _ := strings.Cut(p, " "); !g.hasNamesake(p) && g.IntN(2) == 0 {
		return name
	}
	return p
}

// randomValue returns a value for a placeholder such as {city}, or "" for an unknown placeholder.
func (g *generator) randomValue(name string) string {
	switch name {
	case "date":
		return g.start.AddDate(0, 0, g.IntN(365)).Format("2 January")
	case "price":
		return strconv.Itoa(20+g.IntN(400)) + " euros"
	case "amount":
		return fmt.Sprintf("%d.%02d EUR", 20+g.IntN(900), g.IntN(100))
	case "number":
		return strconv.Itoa(2 + g.IntN(70))
	case "code":
		return string(rune('A'+g.IntN(26))) + string(rune('A'+g.IntN(26))) + strconv.Itoa(1000+g.IntN(9000))
	case "phone":
		return fmt.Sprintf("+370 6%02d %05d", g.IntN(100), g.IntN(100_000))
	case "year":
		return strconv.Itoa(2027 + g.IntN(8))
	case "person":
		return g.pickOne(g.people)
	}
	return g.pickOne(readSection(name))
}

// fillTexts replaces the placeholders of texts by the same values.
func (g *generator) fillTexts(values map[string]string, list ...string) []string {
	out := slices.Clone(list)
	for i, s := range out {
		for {
			from := strings.IndexByte(s, '{')
			if from < 0 {
				break
			}
			to := from + strings.IndexByte(s[from:], '}')
			name := s[from+1 : to]
			if values[name] == "" {
				kind, _, _ := strings.Cut(name, ":")
				values[name] = g.randomValue(kind)
			}
			s = s[:from] + values[name] + s[to+1:]
		}
		out[i] = s
	}
	return out
}

// template is a line of texts.txt: alternatives of the statement | alternatives of the question |
// the answer, separated by "//".
type template struct {
	says, asks []string
	want       string
}

func readTemplates(name string) (out []template) {
	for _, line := range readSection(name) {
		f := strings.Split(line, "|")
		if len(f) != 3 {
			panic("year: " + line)
		}
		list := func(s string) (out []string) {
			for _, x := range strings.Split(s, "//") {
				out = append(out, strings.TrimSpace(x))
			}
			return out
		}
		out = append(out, template{list(f[0]), list(f[1]), strings.TrimSpace(f[2])})
	}
	return out
}

// addPersonFacts adds facts about people, corrects some, and relates people to each other.
func (g *generator) addPersonFacts() {
	list := readTemplates("about people")
	job := map[string]string{}
	for _, p := range g.people {
		for i := range list {
			if g.IntN(10) < 4 {
				continue
			}
			t := list[i]
			category := "fact about a person"
			if g.hasNamesake(p) {
				category = "namesake"
			}
			values := map[string]string{"p": p}
			said := g.fillTexts(values, g.pickOne(t.says), t.want)
			g.addRow(Row{Kind: "fact", Text: said[0], At: g.randomDay(0, 0.6)})
			if g.IntN(4) == 0 && t.want != "" && strings.Contains(t.says[0], " at {company}") || g.IntN(4) == 0 && strings.Contains(t.says[0], "{city}") {
				values = map[string]string{"p": p}
				if again := g.fillTexts(values, t.says[len(t.says)-1], t.want); again[1] != said[1] {
					said, category = again, "correction"
					g.addRow(Row{Kind: "fact", Text: said[0], At: g.randomDay(0.65, 0.95)})
				}
			}
			if strings.Contains(t.says[0], "{company}") {
				job[p] = said[1]
			}
			values["p"] = g.referTo(p)
			g.addQuestion(category, g.fillTexts(values, g.pickOne(t.asks))[0], said[1])
		}
	}
	for i := 0; i+1 < len(g.people); i += 2 {
		a, b := g.people[i], g.people[i+1]
		g.addRow(Row{Kind: "fact", Text: a + " is married to " + b, At: g.randomDay(0, 0.9)})
		g.addQuestion("relation", "who is "+g.referTo(a)+" married to?", b)
		if job[b] != "" {
			g.addQuestion("relation", "Where does "+g.referTo(a)+"'s spouse work?", job[b])
		}
	}
}

// addOwnFacts adds what the user says about himself. Every third fact is corrected later.
func (g *generator) addOwnFacts() {
	for i, t := range readTemplates("about me") {
		values := map[string]string{}
		said := g.fillTexts(values, g.pickOne(t.says), t.want)
		g.addRow(Row{Kind: "fact", Text: said[0], At: g.randomDay(0, 0.6)})
		category := "fact about me"
		if i%3 == 0 {
			if again := g.fillTexts(map[string]string{}, t.says[0], t.want); again[1] != said[1] && t.want != "" {
				said, category = again, "correction"
				g.addRow(Row{Kind: "fact", Text: said[0], At: g.randomDay(0.65, 0.95)})
			}
		}
		for _, q := range t.asks {
			g.addQuestion(category, q, said[1])
		}
	}
}

// addNotesAndDocuments adds notes and parts of documents.
func (g *generator) addNotesAndDocuments() {
	for _, kind := range []string{"note", "chunk"} {
		name := map[string]string{"note": "notes", "chunk": "documents"}[kind]
		for i, t := range readTemplates(name) {
			said := g.fillTexts(map[string]string{}, append([]string{t.says[1], t.want}, t.asks...)...)
			r := Row{Kind: kind, Title: t.says[0], Text: said[0], At: g.randomDay(0, 0.95), Outside: kind == "chunk" && i%2 == 0}
			if kind == "chunk" {
				r.Group, r.Pos = "doc"+strconv.Itoa(i), 1
				filler := readSection("filler")
				for j := range 3 {
					g.addRow(Row{Kind: kind, Title: r.Title, Text: g.pickOne(filler) + " " + g.pickOne(filler), Group: r.Group, Pos: j + 2, At: r.At, Outside: r.Outside})
				}
			}
			g.addRow(r)
			for _, q := range said[2:] {
				g.addQuestion(strings.TrimSuffix(name, "s"), q, said[1])
			}
		}
	}
}

// addConversation adds a conversation in which the user mentions the lines in passing.
func (g *generator) addConversation(at time.Time, lines ...string) {
	g.group++
	for i, s := range lines {
		g.addRow(Row{Kind: "turn", Text: s, Speaker: []string{"owner", "hob"}[i%2], Group: "chat" + strconv.Itoa(g.group), Pos: i + 1, At: at.Add(time.Duration(i) * time.Minute)})
	}
}

// addEvents adds events that the user mentions in conversations.
func (g *generator) addEvents() {
	small, replies := readSection("small talk"), readSection("replies")
	for _, t := range readTemplates("events") {
		for range 2 {
			values := map[string]string{}
			said := g.fillTexts(values, g.pickOne(t.says), t.want)
			lines := []string{g.pickOne(small), g.pickOne(replies), said[0], g.pickOne(replies)}
			if g.IntN(2) == 0 {
				lines = append(lines, g.pickOne(small), g.pickOne(replies))
			}
			g.addConversation(g.randomDay(0, 0.97), lines...)
			g.addQuestion("conversation", g.fillTexts(values, g.pickOne(t.asks))[0], said[1])
		}
	}
}

// addMail adds emails.
func (g *generator) addMail() {
	for _, t := range readTemplates("mail") {
		for range 2 {
			values := map[string]string{}
			said := g.fillTexts(values, t.says[0], t.says[1], t.want)
			g.order++
			g.addRow(Row{Kind: "chunk", Title: said[0], Text: said[1], Group: "mail" + strconv.Itoa(g.order), At: g.randomDay(0, 0.97), Outside: true})
			g.addQuestion("mail", g.fillTexts(values, g.pickOne(t.asks))[0], said[2])
		}
	}
}

// addNoise adds rows that answer no question.
func (g *generator) addNoise() {
	small, replies, news, filler := readSection("small talk"), readSection("replies"), readSection("newsletters"), readSection("filler")
	for range 700 {
		lines := make([]string, 0, 6)
		for range 1 + g.IntN(3) {
			lines = append(lines, g.pickOne(small), g.pickOne(replies))
		}
		g.addConversation(g.randomDay(0, 0.99), lines...)
	}
	for i := range 400 {
		s := g.fillTexts(map[string]string{}, g.pickOne(news))[0]
		g.addRow(Row{Kind: "chunk", Title: s[:min(len(s), 40)], Text: s + " " + g.pickOne(filler), Group: "news" + strconv.Itoa(i), At: g.randomDay(0, 1), Outside: true})
	}
	for range 150 {
		g.addRow(Row{Kind: "task", Text: g.fillTexts(map[string]string{}, g.pickOne(readSection("tasks")))[0], At: g.randomDay(0, 1)})
	}
}
