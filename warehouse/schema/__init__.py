"""Tables and views: their descriptions, their DDL and the migrations between versions."""
