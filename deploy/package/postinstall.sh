#!/bin/sh
# Makes the user that the service runs as. An upgrade restarts nothing: do it node by node.
set -e
if ! getent passwd tidemark >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/tidemark --no-create-home --shell /usr/sbin/nologin tidemark
fi
chgrp tidemark /etc/tidemark/tidemark.yml
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
