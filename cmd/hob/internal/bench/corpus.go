package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
)

// corpus generates a realistic memory: conversations between two people, facts, notes and parts of
// documents. Word frequencies follow real text (Zipf: https://en.wikipedia.org/wiki/Zipf%27s_law),
// and the most frequent words are those of English. The output is deterministic.
type corpus struct {
	rnd   *rand.Rand
	zipf  *rand.Zipf
	words []string
	names []string
	n     int
	talk  openConversation
	seen  []searchQuestion // some generated rows, with questions about them
}

// openConversation is the conversation that is being generated.
type openConversation struct {
	id    int
	pos   int
	left  int
	at    time.Time
	pair  [2]string
	topic []string
}

// searchQuestion is a question and the row from which it was generated.
type searchQuestion struct{ text, ref string }

const (
	vocabulary = 60_000
	people     = 1_500
	common     = `the to and i a you it of that in is for we my was on with but have so this they be are at me not just what do like had about will can from or one an if there all were your up out when would he she how some time them really then been has know think got good going very well much did more her him his our`
)

func newCorpus() *corpus {
	rnd := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // nothing is secret here
	c := &corpus{rnd: rnd, zipf: rand.NewZipf(rnd, 1.07, 3, vocabulary-1), words: strings.Fields(common)}
	for len(c.words) < vocabulary {
		c.words = append(c.words, c.makeWord(1+min(3, len(c.words)/4000+rnd.IntN(2))))
	}
	c.talk.at = time.Date(2021, 1, 1, 9, 0, 0, 0, time.UTC)
	for range people {
		first := c.makeWord(1 + rnd.IntN(2))
		c.names = append(c.names, strings.ToUpper(first[:1])+first[1:])
	}
	return c
}

// makeWord returns a random word with at least two syllables.
func (c *corpus) makeWord(more int) string {
	const heads, vowels, tails = "b c d f g h j k l m n p r s t v w z br cl dr fl gr pl pr st tr ch sh th", "a e i o u a e i o ai ea ou", "n r s t l m d k nd st rt"
	pick := func(list string) string { f := strings.Fields(list); return f[c.rnd.IntN(len(f))] }
	var b strings.Builder
	for range more + 1 {
		b.WriteString(pick(heads) + pick(vowels))
	}
	if c.rnd.IntN(2) == 0 {
		b.WriteString(pick(tails))
	}
	return b.String()
}

func (c *corpus) randomWord() string { return c.words[c.zipf.Uint64()] }

// makeSentence returns a sentence with at least the given number of words. About one word in eight
// is from topic.
func (c *corpus) makeSentence(words int, topic []string) string {
	out := make([]string, words)
	for i := range out {
		out[i] = c.randomWord()
		if len(topic) > 0 && c.rnd.IntN(8) == 0 {
			out[i] = topic[c.rnd.IntN(len(topic))]
		}
	}
	switch c.rnd.IntN(10) {
	case 0:
		out = append(out, "on", c.talk.at.AddDate(0, 0, c.rnd.IntN(60)-30).Format("2 January"))
	case 1, 2:
		out = append(out, "with", c.names[c.rnd.IntN(people)])
	}
	end := "."
	if c.rnd.IntN(6) == 0 {
		end = "?"
	}
	return strings.ToUpper(out[0][:1]) + strings.Join(out, " ")[1:] + end
}

// rareWords returns n random words that are not among the 400 most frequent ones.
func (c *corpus) rareWords(n int) (out []string) {
	for range n {
		out = append(out, c.words[400+c.rnd.IntN(vocabulary-400)])
	}
	return out
}

// nextRow generates a row.
func (c *corpus) nextRow() knowledge.Doc {
	c.n++
	d := knowledge.Doc{Ref: fmt.Sprint("b", c.n), Provenance: provenance.Owner}
	switch k := c.rnd.IntN(20); {
	case k < 13:
		c.fillTurn(&d)
	case k < 15:
		d.Kind = knowledge.KindFact
		who, topic := c.names[c.rnd.IntN(people)], c.rareWords(2)
		d.Text = fmt.Sprintf("%s %s", who, c.makeSentence(5+c.rnd.IntN(8), topic))
		c.addQuestion(d, append(topic, who))
	case k < 16:
		d.Kind = "note"
		topic := c.rareWords(3)
		d.Title, d.Text = strings.Join(topic[:2], " "), c.makeSentence(15+c.rnd.IntN(60), topic)
		c.addQuestion(d, topic)
	default:
		d.Kind, d.Group, d.Pos = knowledge.KindChunk, fmt.Sprint("doc", c.n/40), c.n%40
		topic := c.rareWords(4)
		d.Text = c.makeSentence(60+c.rnd.IntN(60), topic)
		c.addQuestion(d, topic)
	}
	if d.At.IsZero() {
		d.At = c.talk.at
	}
	return d
}

func (c *corpus) fillTurn(d *knowledge.Doc) {
	t := &c.talk
	if t.left == 0 {
		day := time.Date(2021, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, int(1800*math.Sqrt(c.rnd.Float64())))
		*t = openConversation{id: t.id + 1, left: 10 + c.rnd.IntN(40), at: day, pair: [2]string{"owner", c.names[c.rnd.IntN(people)]}, topic: c.rareWords(5)}
	}
	t.left--
	t.pos++
	t.at = t.at.Add(time.Minute)
	d.Kind, d.Group, d.Pos, d.Speaker, d.At = knowledge.KindTurn, fmt.Sprint("talk", t.id), t.pos, t.pair[t.pos%2], t.at
	d.Text = c.makeSentence(4+c.rnd.IntN(26), t.topic)
	c.addQuestion(*d, append(slices.Clone(t.topic[:2]), d.Speaker))
}

// addQuestion generates a question from some rows: two or three words of the row in an everyday
// sentence.
func (c *corpus) addQuestion(d knowledge.Doc, about []string) {
	if c.n > 5000 && c.rnd.IntN(c.n/5000) > 0 {
		return
	}
	in := strings.Fields(strings.Trim(d.Text, ".?"))
	for range 2 {
		about = append(about, in[c.rnd.IntN(len(in))])
	}
	forms := []string{"what did %s say about %s %s", "when was %s %s and %s", "%s %s %s", "who told me about the %s, %s %s", "where is the %s of %s last spring with %s"}
	i := c.rnd.Perm(len(about))
	q := searchQuestion{fmt.Sprintf(forms[c.rnd.IntN(len(forms))], about[i[0]], about[i[1]], about[i[2%len(i)]]), d.Ref}
	if len(c.seen) < 2000 {
		c.seen = append(c.seen, q)
		return
	}
	c.seen[c.rnd.IntN(len(c.seen))] = q
}

// hashEmbedder is a very cheap embedder. The vector for a string is the sum of one hashed direction
// per word. Longer words, which are rarer, have more weight. It ignores meaning, but strings with
// common words get similar vectors, as with a real embedder.
type hashEmbedder int

// Embed implements llm.Embedder.
func (n hashEmbedder) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, n)
		for w := range strings.FieldsSeq(strings.ToLower(text)) {
			n.addWord(v, strings.Trim(w, ".,?"))
		}
		out[i] = v
	}
	return out, llm.Usage{}, nil
}

func (n hashEmbedder) addWord(v []float32, word string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(word)) // never fails
	s := h.Sum64()
	weight := float32(min(len(word), 8)*min(len(word), 8)) / 64
	var bits uint64
	for i := range v {
		if i%64 == 0 { // splitmix64; see https://prng.di.unimi.it/splitmix64.c
			s += 0x9e3779b97f4a7c15
			bits = s
			bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
			bits = (bits ^ bits>>27) * 0x94d049bb133111eb
			bits ^= bits >> 31
		}
		if bits>>(i%64)&1 == 1 {
			v[i] += weight
		} else {
			v[i] -= weight
		}
	}
}
