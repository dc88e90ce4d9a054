# How the JupyterLab of `./lab notebook` starts the language server for .p4 files.
from p4lab.editor import jupyter_server

c = get_config()  # noqa: F821
c.LanguageServerManager.language_servers = jupyter_server()
