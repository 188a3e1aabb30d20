package postgres

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// encodeValue returns the value of a parameter whose type the server has chosen, and its format.
func encodeValue(v driver.Value, oid uint32) ([]byte, int16, error) {
	switch v := v.(type) {
	case nil:
		return nil, textFormat, nil
	case int64:
		return strconv.AppendInt(nil, v, 10), textFormat, nil
	case bool:
		if v {
			return []byte("1"), textFormat, nil
		}
		return []byte("0"), textFormat, nil
	case float64:
		return strconv.AppendFloat(nil, v, 'g', -1, 64), textFormat, nil
	case []byte:
		if v == nil { // SQLite stores a nil slice as NULL
			return nil, textFormat, nil
		}
		if oid == byteaOID {
			return v, binaryFormat, nil
		}
		return []byte(storableText(string(v))), textFormat, nil
	case string:
		if oid == byteaOID {
			return []byte(v), binaryFormat, nil
		}
		return []byte(storableText(v)), textFormat, nil
	}
	return nil, 0, fmt.Errorf("postgres: a %T cannot be stored; store times as milliseconds", v)
}

// storableText returns a text without what PostgreSQL refuses in texts.
func storableText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// rows are the rows of a query.
type rows struct {
	r *pgconn.Result
	n int
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string {
	out := make([]string, len(r.r.FieldDescriptions))
	for i, f := range r.r.FieldDescriptions {
		out[i] = f.Name
	}
	return out
}

// Close implements driver.Rows.
func (*rows) Close() error { return nil }

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	if r.n >= len(r.r.Rows) {
		return io.EOF
	}
	for i, b := range r.r.Rows[r.n] {
		v, err := decodeValue(b, r.r.FieldDescriptions[i])
		if err != nil {
			return fmt.Errorf("postgres: read column %s: %w", r.r.FieldDescriptions[i].Name, err)
		}
		dest[i] = v
	}
	r.r.Rows[r.n] = nil
	r.n++
	return nil
}

// decodeValue returns a value of a result as SQLite's driver would: a condition is 1 or 0.
func decodeValue(b []byte, f pgconn.FieldDescription) (driver.Value, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	switch f.DataTypeOID {
	case boolOID:
		if string(b) == "t" {
			return int64(1), nil
		}
		return int64(0), nil
	case int2OID, int4OID, int8OID, oidOID:
		return strconv.ParseInt(string(b), 10, 64)
	case float4OID, float8OID:
		return strconv.ParseFloat(string(b), 64)
	case numericOID: // the sum of integers is a numeric
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return n, nil
		}
		x, err := strconv.ParseFloat(string(b), 64)
		if err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), nil
		}
		return x, err
	case byteaOID:
		if f.Format == binaryFormat {
			return b, nil
		}
		return hex.DecodeString(strings.TrimPrefix(string(b), `\x`))
	}
	return string(b), nil
}
