package index

import (
	"math/bits"
	"strconv"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/platform/terms"
)

// Special terms of a field. Every row has the term all. The rows whose length has bit i set have
// the length term of i. So the total length follows from the number of rows per term, even after
// rows were removed.
const (
	all         = "\x00"
	lengthBits  = 20
	maxLength   = 1<<lengthBits - 1
	languages   = "\x00languages" // a field
	idField     = "_id"
	fieldJoiner = "\x00"
)

func bit(i int) string { return "\x00" + strconv.Itoa(i) }

// fieldOf returns the field for the rows of a kind and a realm. Separate fields need no filter, and
// keep the ranking of one agent independent of another agent's data.
func fieldOf(kind, realm string) string { return kind + fieldJoiner + realm }

// id returns the index key of a row number.
func id(n int64) string { return strconv.FormatInt(n, 36) }

func number(id string) (int64, error) { return strconv.ParseInt(id, 36, 64) }

// row is a row of docs in the format of scorch. Only its number is stored.
type row struct {
	id     string
	fields []api.Field
}

func newRow(n int64, d knowledge.Doc, t terms.Doc) *row {
	length := min(max(t.Length, 1), maxLength)
	freqs := make(api.TokenFrequencies, len(t.Freq)+4)
	for term, f := range t.Freq {
		freqs[term] = freq(term, f)
	}
	freqs[all] = freq(all, 1)
	for i := range bits.Len(uint(length)) {
		if length&(1<<i) != 0 {
			freqs[bit(i)] = freq(bit(i), 1)
		}
	}
	r := &row{id: id(n), fields: []api.Field{&field{name: fieldOf(d.Kind, d.Realm), freqs: freqs, length: length}}}
	if t.Lang != "" {
		r.fields = append(r.fields, &field{name: languages, freqs: api.TokenFrequencies{t.Lang: freq(t.Lang, 1)}, length: 1})
	}
	return r
}

func freq(term string, n int) *api.TokenFreq {
	f := &api.TokenFreq{Term: []byte(term)}
	f.SetFrequency(n)
	return f
}

func (r *row) ID() string                               { return r.id }
func (r *row) Size() int                                { return len(r.fields) * 1024 } // only for scorch's statistics
func (r *row) VisitComposite(api.CompositeFieldVisitor) {}
func (r *row) HasComposite() bool                       { return false }
func (r *row) NumPlainTextBytes() uint64                { return 0 }
func (r *row) StoredFieldsBytes() uint64                { return uint64(len(r.id)) }
func (r *row) Indexed() bool                            { return true }

func (r *row) VisitFields(visit api.FieldVisitor) {
	for _, f := range r.fields {
		visit(f)
	}
}

func (r *row) AddIDField() {
	r.fields = append(r.fields, &field{name: idField, freqs: api.TokenFrequencies{r.id: freq(r.id, 1)}, length: 1, value: []byte(r.id)})
}

// field is one analyzed field of a row. With a value it is stored.
type field struct {
	name   string
	freqs  api.TokenFrequencies
	length int
	value  []byte
}

func (f *field) Name() string                                   { return f.name }
func (f *field) Value() []byte                                  { return f.value }
func (f *field) ArrayPositions() []uint64                       { return nil }
func (f *field) EncodedFieldType() byte                         { return 't' }
func (f *field) Analyze()                                       {}
func (f *field) AnalyzedLength() int                            { return f.length }
func (f *field) AnalyzedTokenFrequencies() api.TokenFrequencies { return f.freqs }
func (f *field) NumPlainTextBytes() uint64                      { return 0 }

func (f *field) Options() api.FieldIndexingOptions {
	if f.value != nil {
		return api.IndexField | api.StoreField
	}
	return api.IndexField
}
