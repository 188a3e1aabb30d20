package channel

import (
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/api/apitest"
)

// TestAPITypes checks that a value has the same JSON in the API as before its conversion.
func TestAPITypes(t *testing.T) {
	apitest.SameJSON(t, func(x Tested) api.ChannelTest { return api.ChannelTest(x) })
}
