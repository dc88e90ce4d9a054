# How the JupyterLab of `./lab notebook` starts the language server for .p4 files, and what its page
# is told of the lab's layout.
import json
import os

from p4lab.editor import jupyter_server

c = get_config()  # noqa: F821
c.LanguageServerManager.language_servers = jupyter_server()
layout = json.loads(os.environ.get("P4LAB_LAYOUT", "null"))
if layout:
    c.ServerApp.tornado_settings = {"page_config_data": {"p4lab": json.dumps(layout)}}
