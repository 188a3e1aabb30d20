// Package bankfile reads the files in which banks and money programs export transactions: CSV, OFX
// (SGML and XML) and QIF. Amounts are exact. What a file does not show, such as the order of day and
// month, is a QuestionError and never a guess. The package opens no files; import_expenses calls it.
package bankfile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/text/amount"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
)

// Entry is one transaction.
type Entry struct {
	Day      string // YYYY-MM-DD
	Minor    int64  // in the currency's smallest unit; negative if money was spent
	Currency string
	Payee    string
	Memo     string
	Category string // as the file calls it, "" if it names none
	ID       string // the bank's id of the transaction, "" if there is none
	Line     int    // line or number of the entry in the file
}

// Statement is a parsed file.
type Statement struct {
	Format  string // csv, ofx or qif
	Account string
	Entries []Entry
	Skipped []Skipped
	Notes   []string // assumptions that the user should know
}

// Skipped is an entry that was not read.
type Skipped struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// Options answer what a file may leave open. The zero value answers nothing.
type Options struct {
	Currency  string            // of amounts without a currency
	Now       time.Time         // in the user's zone
	DateOrder tabular.Order     // of numeric dates
	Spending  string            // "negative" or "positive": the sign of spending in a column of amounts
	Encoding  string            // name of the encoding
	Columns   map[string]string // heading or number of the column for date, amount, payee ...
}

// QuestionError is a question to the user and the option that answers it.
type QuestionError struct {
	Option string // date_order, spending, columns
	Text   string
}

func (e *QuestionError) Error() string { return e.Text }

// Reasons why a file cannot be read.
var (
	ErrUnknownFormat  = errors.New("the file is no CSV, OFX or QIF export")
	ErrNoTransactions = errors.New("the file contains no transactions")
)

// MaxEntries is the maximum number of transactions in a file.
const MaxEntries = 20_000

// maxText limits names and memos, in letters.
const maxText = 200

// Parse parses a file. The format is detected by the content.
func Parse(data []byte, o Options) (Statement, error) {
	text, guessed, err := decodeFile(data, o.Encoding)
	if err != nil {
		return Statement{}, err
	}
	var s Statement
	head := strings.ToUpper(text[:min(len(text), 4096)])
	switch {
	case strings.Contains(head, "<OFX>"), strings.Contains(head, "OFXHEADER"):
		s = parseOFX(text, o)
	case strings.HasPrefix(strings.TrimSpace(head), "!TYPE"), strings.HasPrefix(strings.TrimSpace(head), "!ACCOUNT"), strings.HasPrefix(strings.TrimSpace(head), "!OPTION"), strings.HasPrefix(strings.TrimSpace(head), "!CLEAR"):
		s, err = parseQIF(text, o)
	case strings.HasPrefix(strings.TrimSpace(head), "<"), strings.HasPrefix(strings.TrimSpace(head), "{"):
		return s, ErrUnknownFormat
	default:
		s, err = parseCSV(text, o)
	}
	if err != nil {
		return s, err
	}
	if guessed {
		s.Notes = append(s.Notes, "the file does not state its encoding and was read as Windows-1252; give encoding if letters are wrong")
	}
	if len(s.Entries) == 0 && len(s.Skipped) == 0 {
		return s, ErrNoTransactions
	}
	if len(s.Entries) > MaxEntries {
		return s, fmt.Errorf("the file has more than %d transactions; export a shorter period", MaxEntries)
	}
	return s, nil
}

// decodeFile converts a file to UTF-8. The header of an OFX file may name the encoding, but UTF-8
// takes precedence, because banks write wrong headers.
func decodeFile(data []byte, encoding string) (text string, guessed bool, err error) {
	text, guessed, err = tabular.Decode(data, encoding)
	if err == nil && guessed && strings.Contains(text[:min(len(text), 512)], "CHARSET:1252") {
		guessed = false
	}
	return text, guessed, err
}

func cleanText(s string) string {
	return textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), maxText)
}

// checkDay parses a date and rejects days that are more than a month in the future.
func checkDay(s string, order tabular.Order, now time.Time) (string, string) {
	day, ok := tabular.ParseDay(s, order)
	switch {
	case !ok:
		return "", fmt.Sprintf("%q is not a date", textnorm.Ellipsize(s, 40))
	case day.After(now.AddDate(0, 1, 0)):
		return "", fmt.Sprintf("the date %s is in the future", day.Format(time.DateOnly))
	}
	return day.Format(time.DateOnly), ""
}

// resolveOrder returns the order of a column of dates, or asks for it.
func resolveOrder(values []string, o Options) (tabular.Order, error) {
	if o.DateOrder != "" {
		return o.DateOrder, nil
	}
	order, err := tabular.DetectOrder(values)
	if err == nil {
		return order, nil
	}
	example := ""
	for _, v := range values {
		if _, err := tabular.DetectOrder([]string{v}); errors.Is(err, tabular.ErrAmbiguousDates) {
			example = v
			break
		}
	}
	text := err.Error()
	if example != "" {
		a, _ := tabular.ParseDay(example, tabular.DayFirst)
		b, _ := tabular.ParseDay(example, tabular.MonthFirst)
		text = fmt.Sprintf("%s: is %s %s or %s?", text, textnorm.Ellipsize(example, 20), a.Format("2 January 2006"), b.Format("2 January 2006"))
	}
	return "", &QuestionError{"date_order", text}
}

// resolveMark returns the decimal separator of a column of amounts, or asks for it.
func resolveMark(values []string, currency string) (rune, error) {
	mark, err := amount.DetectMark(values)
	switch {
	case err == nil:
		return mark, nil
	case errors.Is(err, amount.ErrAmbiguous) && amount.Digits(currency) < 3:
		// three digits after the separator are no decimals of this currency, so it separates thousands
		for _, v := range values {
			if strings.Contains(v, ",") {
				return '.', nil
			}
		}
		return ',', nil
	}
	return 0, &QuestionError{"amounts", err.Error() + "; export the file again with another format of numbers"}
}

// signOf returns the sign that a word for the direction of a payment stands for, 0 if it is unknown.
func signOf(word string) int64 {
	switch strings.Join(textnorm.FoldedWords(word), " ") {
	case "d", "dbit", "debit", "dr", "s", "soll", "af", "out", "debet", "expense", "withdrawal", "outgoing", "sent":
		return -1
	case "k", "c", "crdt", "credit", "cr", "h", "haben", "bij", "in", "kredit", "income", "deposit", "incoming", "received":
		return 1
	}
	switch strings.TrimSpace(word) {
	case "-":
		return -1
	case "+":
		return 1
	}
	return 0
}
