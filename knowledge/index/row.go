package index

import (
	"math/bits"
	"strconv"

	api "github.com/blevesearch/bleve_index_api"

	"hob/knowledge"
	"hob/platform/text/analyzer"
)

// Special terms of a field. Every row has the term all. A row has the length term of i if bit i of
// its length is set. Thus the total length can be computed from the number of rows per term, even
// after rows were removed.
const (
	all         = "\x00"
	lengthBits  = 20
	maxLength   = 1<<lengthBits - 1
	languages   = "\x00languages" // field with the languages of the rows
	idField     = "_id"
	fieldJoiner = "\x00"
)

func lengthBitTerm(i int) string { return "\x00" + strconv.Itoa(i) }

// fieldOf returns the field for the rows of a kind and a realm. With separate fields, no filter is
// needed, and one agent's ranking does not depend on another agent's data.
func fieldOf(kind, realm string) string { return kind + fieldJoiner + realm }

// rowKey returns the index key of a row number.
func rowKey(n int64) string { return strconv.FormatInt(n, 36) }

func parseRowKey(id string) (int64, error) { return strconv.ParseInt(id, 36, 64) }

// indexRow is a row of docs in the format of scorch. Only the number of the row is stored.
type indexRow struct {
	id     string
	fields []api.Field
}

func newRow(n int64, d knowledge.Doc, t analyzer.Doc) *indexRow {
	length := min(max(t.Length, 1), maxLength)
	freqs := make(api.TokenFrequencies, len(t.Freq)+4)
	for term, f := range t.Freq {
		freqs[term] = newTokenFreq(term, f)
	}
	freqs[all] = newTokenFreq(all, 1)
	for i := range bits.Len(uint(length)) {
		if length&(1<<i) != 0 {
			freqs[lengthBitTerm(i)] = newTokenFreq(lengthBitTerm(i), 1)
		}
	}
	r := &indexRow{id: rowKey(n), fields: []api.Field{&indexField{name: fieldOf(d.Kind, d.Realm), freqs: freqs, length: length}}}
	if t.Lang != "" {
		r.fields = append(r.fields, &indexField{name: languages, freqs: api.TokenFrequencies{t.Lang: newTokenFreq(t.Lang, 1)}, length: 1})
	}
	return r
}

func newTokenFreq(term string, n int) *api.TokenFreq {
	f := &api.TokenFreq{Term: []byte(term)}
	f.SetFrequency(n)
	return f
}

func (r *indexRow) ID() string                               { return r.id }
func (r *indexRow) Size() int                                { return len(r.fields) * 1024 } // used only for scorch's statistics
func (r *indexRow) VisitComposite(api.CompositeFieldVisitor) {}
func (r *indexRow) HasComposite() bool                       { return false }
func (r *indexRow) NumPlainTextBytes() uint64                { return 0 }
func (r *indexRow) StoredFieldsBytes() uint64                { return uint64(len(r.id)) }
func (r *indexRow) Indexed() bool                            { return true }

func (r *indexRow) VisitFields(visit api.FieldVisitor) {
	for _, f := range r.fields {
		visit(f)
	}
}

func (r *indexRow) AddIDField() {
	r.fields = append(r.fields, &indexField{name: idField, freqs: api.TokenFrequencies{r.id: newTokenFreq(r.id, 1)}, length: 1, value: []byte(r.id)})
}

// indexField is one analyzed field of a row. It is stored if it has a value.
type indexField struct {
	name   string
	freqs  api.TokenFrequencies
	length int
	value  []byte
}

func (f *indexField) Name() string                                   { return f.name }
func (f *indexField) Value() []byte                                  { return f.value }
func (f *indexField) ArrayPositions() []uint64                       { return nil }
func (f *indexField) EncodedFieldType() byte                         { return 't' }
func (f *indexField) Analyze()                                       {}
func (f *indexField) AnalyzedLength() int                            { return f.length }
func (f *indexField) AnalyzedTokenFrequencies() api.TokenFrequencies { return f.freqs }
func (f *indexField) NumPlainTextBytes() uint64                      { return 0 }

func (f *indexField) Options() api.FieldIndexingOptions {
	if f.value != nil {
		return api.IndexField | api.StoreField
	}
	return api.IndexField
}
