-- Whether Hob may use Messages: reads how many chats there are, and sends nothing.
on main(request)
	my awake()
	with timeout of 12 seconds
		tell application id "com.apple.MobileSMS"
			set howMany to count of chats
		end tell
	end timeout
	return {chats:howMany}
end main
