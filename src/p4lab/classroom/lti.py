"""Students who come from their learning platform, by LTI 1.3: it says who they are, the roster says
whether they take part.

The platform registers `/hub/lti13/config` as a tool; it logs in at `/hub/lti13/oauth_login` and
answers to `/hub/lti13/oauth_callback` (jupyterhub-ltiauthenticator).
"""

from __future__ import annotations

from typing import Any

from ltiauthenticator.lti13.auth import LTI13Authenticator
from ltiauthenticator.lti13.error import LoginError

from p4lab.classroom.accounts import INSTRUCTOR
from p4lab.classroom.place import Settings
from p4lab.grading.roster import Roster, login_of

ROLES = "https://purl.imsglobal.org/spec/lti/claim/roles"
CUSTOM = "https://purl.imsglobal.org/spec/lti/claim/custom"
TEACHES = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
"""Names of LTI 1.3's core specification (5.3.7, 5.4.6, A.2.3)"""


class Platform(LTI13Authenticator):
    """Logins of the class from what a platform has signed."""

    roster: Roster

    def get_username(self, token: dict[str, Any]) -> str:
        """The login of whom the platform names. Raises LoginError for who is not on the roster. A
        claim that is missing is not replaced by another, which may be somebody else's id."""
        if TEACHES in token.get(ROLES, []):
            return INSTRUCTOR
        key: str = self.username_key
        claims = token.get(CUSTOM, {}) if key.startswith("custom_") else token
        label = claims.get(key.removeprefix("custom_"))
        if not isinstance(label, str) or not label:
            raise LoginError(f"The platform does not say {key}; let it, or change username_key.")
        person = self.roster.person(label)
        if person is None:
            raise LoginError(f"{label} is not on the roster of this class.")
        return login_of(person.id)

    def validate_username(self, username: str) -> bool:
        """Whether it is the login of somebody on the roster."""
        return username in self.allowed_users


def configure_lti(c: Any, settings: Settings, roster: Roster) -> None:
    """Fills in the hub's configuration for a platform."""
    assert settings.lti is not None
    Platform.roster = roster
    c.JupyterHub.authenticator_class = Platform
    c.Platform.issuer = settings.lti.issuer
    c.Platform.client_id = {settings.lti.client_id}
    c.Platform.authorize_url = settings.lti.authorize_url
    c.Platform.jwks_endpoint = settings.lti.jwks_endpoint
    c.Platform.username_key = settings.lti.username_key
    c.Platform.tool_name = "p4lab"
