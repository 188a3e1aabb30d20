package browser

import (
	"encoding/json"
	"fmt"
)

// rawValue is an unparsed JSON value of a page.
type rawValue json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (v *rawValue) UnmarshalJSON(b []byte) error {
	*v = append((*v)[:0], b...)
	return nil
}

func (v rawValue) decodeInto(out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(v, out); err != nil {
		return fmt.Errorf("browser: decode the result of the page: %w", err)
	}
	return nil
}
