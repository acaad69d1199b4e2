"""What tests share: servers, scripted models and judges, projects and services."""
