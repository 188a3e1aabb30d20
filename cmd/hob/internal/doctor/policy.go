package doctor

import (
	"context"
	"fmt"

	"hob/autonomy/rules"
)

// checkPolicy reads the owner's rules: a broken file denies every call.
func checkPolicy(_ context.Context, e Env) []Check {
	list, err := rules.New(e.Paths.PolicyDir(), rules.Options{}).List()
	if err != nil {
		return failed("policy", err, "mend the file, or take it out of "+e.Paths.PolicyDir())
	}
	if len(list) == 0 {
		return ok("policy", "no rules of your own")
	}
	return ok("policy", fmt.Sprintf("%d rules of your own", len(list)))
}
