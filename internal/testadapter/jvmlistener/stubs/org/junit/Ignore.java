package org.junit;

@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
public @interface Ignore {
    String value() default "";
}
