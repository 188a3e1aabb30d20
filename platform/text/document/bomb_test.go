package document

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestParse_Bombs checks that small files do not need much memory.
func TestParse_Bombs(t *testing.T) {
	long := strings.Repeat("word ", 40_000)
	var cells strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&cells, `<row><c r="A%d" t="s"><v>0</v></c></row>`, i+1)
	}
	wide := `<row>` + strings.Repeat(`<c t="s"><v>0</v></c>`, 2000) + `</row>`
	workbook := func(rows string) string {
		return string(createZip(t, map[string]string{
			"[Content_Types].xml":        "<Types/>",
			"xl/workbook.xml":            `<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`,
			"xl/sharedStrings.xml":       `<sst><si><t>` + long + `</t></si></sst>`,
			"xl/worksheets/sheet1.xml":   `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
		}))
	}
	tests := []struct{ name, file, data string }{
		{"a shared text in many rows", "a.xlsx", workbook(cells.String())},
		{"a shared text in many cells of a row", "a.xlsx", workbook(wide)},
		{"a long name over many values", "a.json", `{"` + strings.Repeat("n", 90_000) + `":[` + strings.Repeat("1,", 9_000) + `1]}`},
		{"long names in each other", "a.json", strings.Repeat(`{"`+strings.Repeat("n", 3000)+`":`, 38) + `[` + strings.Repeat("1,", 9_000) + `1]` + strings.Repeat("}", 38)},
		{"many small objects", "a.json", `[` + strings.Repeat(`{"":0},`, 1_000_000) + `0]`},
		{"many small objects on a line", "a.jsonl", `[` + strings.Repeat(`{"":0},`, 1_000_000) + "0]\n{\"a\":1}\n"},
		{"many small cells", "a.csv", strings.Repeat("a,b,c,d\n", 3) + strings.Repeat("a,", 2_000_000) + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			most := peakHeap(func() {
				f, err := Parse(t.Context(), tt.file, []byte(tt.data), Limits{})
				if err != nil || len(f.Documents) != 1 {
					t.Errorf("%d documents, %v", len(f.Documents), err)
				}
			})
			if most > 200<<20 {
				t.Errorf("%d kB of input used %d MB", len(tt.data)>>10, most>>20)
			}
		})
	}
}

// peakHeap returns the maximum growth of the heap while run is executed, in bytes.
func peakHeap(run func()) uint64 {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // collect often, so that HeapAlloc is close to the live heap
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most, done := m.HeapAlloc, m.HeapAlloc, make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case <-done:
			tick.Stop()
			return most - before
		case <-tick.C:
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
}

// A file that is attached twice is returned twice.
func TestParse_SameAttachmentTwice(t *testing.T) {
	part := "--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nThe same text in both.\n"
	f, err := Parse(t.Context(), "a.eml", []byte("From: a@example.org\nTo: b@example.org\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"+part+part+"--b--\n"), Limits{})
	if err != nil || len(f.Documents) != 3 {
		t.Fatalf("%d documents, %v", len(f.Documents), err)
	}
	parts := map[string]bool{}
	for _, d := range f.Documents {
		parts[d.Part] = true
	}
	if len(parts) != 3 {
		t.Errorf("parts with the same name: %v", parts)
	}
}

// A PDF that needs too much memory ends only the worker process.
func TestParse_PDFInTheWorkerProcess(t *testing.T) {
	for _, size := range []string{"8000000000", "40000000"} {
		_, err := Parse(t.Context(), "a.pdf", pdfWithObjects(size), withHelper(t, Limits{}))
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "exceeded 512 MB of memory") {
			t.Errorf("%s objects: %v", size, err)
		}
	}
	if _, err := Parse(t.Context(), "a.pdf", pdfWithObjects("1"), Limits{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Parse without a worker = %v", err)
	}
}
