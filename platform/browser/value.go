package browser

import (
	"encoding/json"
	"fmt"
)

// value is an unparsed JSON value of a page.
type value json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(b []byte) error {
	*v = append((*v)[:0], b...)
	return nil
}

func (v value) into(out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(v, out); err != nil {
		return fmt.Errorf("browser: decode the result of the page: %w", err)
	}
	return nil
}
