-- What every AppleScript stands in. A script defines "on main(request)", which is
-- given an NSDictionary and returns a record or list; it calls "my commence()"
-- before what has effects.
use AppleScript version "2.4"
use framework "Foundation"
use scripting additions

property began : false

on run
	try
		set input to current application's NSFileHandle's fileHandleWithStandardInput()'s readDataToEndOfFile()
		set request to current application's NSJSONSerialization's JSONObjectWithData:input options:0 |error|:(missing value)
		set outcome to my main(request)
		return my answer({ok:true, |data|:outcome})
	on error msg number n
		return my answer({ok:false, |number|:n, message:msg, began:began})
	end try
end run

on commence()
	set began to true
end commence

on answer(reply)
	set bytes to current application's NSJSONSerialization's dataWithJSONObject:reply options:0 |error|:(missing value)
	set json to current application's NSString's alloc()'s initWithData:bytes encoding:4
	set plain to json's stringByApplyingTransform:"[^\\u0020-\\u007e] Any-Hex/Java" |reverse|:false
	if plain is missing value then return json as text
	return plain as text
end answer
